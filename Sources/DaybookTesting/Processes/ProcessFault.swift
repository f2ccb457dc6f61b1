import DaybookEngine

package struct ProcessFault: Sendable, Hashable, CustomStringConvertible {
  package var operation: DiskFailure.Operation
  package var call: Int
  package var code: Int32
  package var repeats = false
  /// Whether the pages of a failed sync are dropped.
  package var dropsPages = false
  /// Whether other descriptions are told of it.
  package var tellsEverybody = true

  var fault: SimulatedFault {
    SimulatedFault(
      [operation], call: call, code: code, repeats: repeats, syncLoss: dropsPages ? .dropsPages : .keepsPages,
      tellsEveryDescription: tellsEverybody)
  }

  package var description: String {
    var text = "\(operation.rawValue) \(call) from here fails with \(code)"
    if repeats { text += ", and all after it" }
    guard operation == .sync else { return text }
    text += dropsPages ? ", the cache drops what it lost" : ", the cache keeps what it lost"
    return text + (tellsEverybody ? "" : ", and only its caller is told")
  }
}
