/// Which process this is.
///
/// A child after `fork` is another one, also where it has its parent's number: a container counts for itself, and the number
/// of a process that has ended is given again. So forks count. A child made by a bare system call is told by its number alone (`ProcessNumber`).
package struct ProcessIdentity: Hashable, Sendable {
  private let number: Int32
  private let generation: Int

  fileprivate init(number: Int32, generation: Int) {
    self.number = number
    self.generation = generation
  }
}

/// The identity of this process.
package func processID() -> ProcessIdentity {
  ProcessIdentity(number: ProcessNumber.own, generation: isMutant("number-is-process") ? 0 : ForkedProcess.watchedGeneration)
}
