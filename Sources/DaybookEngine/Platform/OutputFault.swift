/// Why an output could not be made, and at which path.
package enum OutputFault: Error, Sendable {
  case disk(DiskFailure)
  case refused(OutputRefusal, path: String)

  init(_ problem: OutputProblem, path: String) {
    switch problem {
    case .system(let error): self = .disk(DiskFailure(.create, path: path, code: error.code))
    case .refused(let refusal): self = .refused(refusal, path: path)
    }
  }
}
