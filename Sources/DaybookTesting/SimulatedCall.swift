import DaybookEngine

/// One call as the disk saw it.
package struct SimulatedCall: Sendable, CustomStringConvertible {
  /// Counts the calls that change something, from 1; a call that only looks carries the number of the last change.
  package internal(set) var number = 0
  package let operation: DiskFailure.Operation
  package let path: String
  package let offset: Int?
  package let byteCount: Int?

  init(_ operation: DiskFailure.Operation, _ path: String, offset: Int? = nil, byteCount: Int? = nil) {
    self.operation = operation
    self.path = path
    self.offset = offset
    self.byteCount = byteCount
  }

  /// Whether the call changes what a crash leaves.
  package var isCounted: Bool { SimulatedCall.countedOperations.contains(operation) }

  package static let countedOperations: Set<DiskFailure.Operation> =
    [.create, .write, .sync, .truncate, .rename, .remove, .syncDirectory, .link, .makeDirectory]

  package var description: String {
    var text = "\(number) \(operation.rawValue) \(path)"
    if let offset { text += " at \(offset)" }
    if let byteCount { text += " for \(byteCount)" }
    return text
  }
}
