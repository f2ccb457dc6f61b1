import Daybook
import DaybookEngine

/// What the process says about itself when it ends. The numbers are part of the interface.
enum ExitStatus: Int32 {
  case done = 0
  /// Something was found or was not there: `check` with findings, `get` of nothing, a conflict.
  case finding = 1
  case usage = 2
  case damaged = 3
  case locked = 4
  case inputOutput = 5
  /// What was to be imported is not what it says it is: no JSON, another number of cells, a date of another format.
  case malformedInput = 6
}

/// What ends a command early: a sentence, what to do about it, and the exit status.
struct ToolError: Error {
  let status: ExitStatus
  let message: String
  let advice: String?

  init(_ status: ExitStatus, _ message: String, advice: String? = nil) {
    self.status = status
    self.message = message
    self.advice = advice
  }

  static func usage(_ message: String, advice: String? = nil) -> ToolError {
    ToolError(.usage, message, advice: advice)
  }

  /// A row that cannot be imported, by its line; and by its column, in bytes from 1, and its number, where a line has many.
  static func badRow(
    line: Int, column: Int? = nil, row: Int? = nil, _ reason: String, advice: String? = nil
  ) -> ToolError {
    let place = "line \(line)" + (column.map { ", column \($0)" } ?? "") + (row.map { ", row \($0)" } ?? "")
    return ToolError(.malformedInput, "\(place): \(reason)", advice: advice)
  }
}

extension ToolError {
  /// What any error means at the command line.
  init(untyped error: any Error) {
    switch error {
    case let problem as ToolError: self = problem
    case let problem as DatabaseError: self.init(problem)
    default: self.init(.inputOutput, "\(error)")
    }
  }

  /// What an error of the database means at the command line.
  init(_ error: DatabaseError) {
    let facts = error.facts.description
    self.init(
      ExitStatus(error.code), facts.isEmpty ? error.message : "\(error.message) (\(facts))",
      advice: Self.advice(for: error))
  }

  /// What to do about a name that something else has than what belongs there.
  private static func planted(_ error: DatabaseError) -> String? {
    guard let failure = error.cause as? DiskFailure else { return nil }
    let found = FoundName.description(of: failure.path).map { "It is \($0). " } ?? ""
    switch failure.kind {
    case .notRegular where error.message == DatabaseError.directorySentence:
      return "Give the path of a file: a database is one file, and what lies beside it has its name with an ending."
    case .notFound where missingFolder(of: failure.path) != nil:
      return "Make the directory first, or check the path: there is no directory \(missingFolder(of: failure.path) ?? "")."
    case .notFound where error.facts.path != failure.path: return "Make the directory first, or check the path."
    case .notFound: return "Check the path."
    case .exists where failure.operation == .create: return "\(found)Nothing was written: give another name, or move it away."
    case .notRegular, .foreign: break
    case .exists where failure.operation != .lock: break
    default: return nil
    }
    return "\(found)Daybook does not touch it. Check what it is, and move it away if it is not needed."
  }

  static let zoneAdvice = "`daybook zones FILE` lists the zones that exist; put and import make the one that they are given."

  private static func advice(for error: DatabaseError) -> String? {
    switch error.code {
    case .corrupted:
      "Run `daybook check FILE` to see what is damaged; `daybook salvage FILE OUT` copies everything that is intact."
    case .notADatabase:
      "Check the path; `daybook import FILE INPUT` makes a new database from JSON or CSV."
    case .formatTooNew: "Use the version of Daybook that wrote the file, or a later one."
    case .locked: "Close the application that has it open, or wait; commands that only read work beside it."
    case .diskFull: "Free some space and run the command again; what was committed before is safe."
    case .outcomeUnknown: "Run `daybook check FILE`; the last commit may or may not be there."
    case .ioFailed where planted(error) != nil: planted(error)
    case .ioFailed: "Check that the path exists and that you may read and write it."
    case .zoneNotFound: zoneAdvice
    case .changeTokenExpired, .changeTokenForked: "Run the command again without --since to start over."
    case .serverRecordChanged: "Read the record again and repeat the change."
    default: nil
    }
  }
}

extension ExitStatus {
  init(_ code: DatabaseError.Code) {
    switch code {
    case .corrupted, .notADatabase: self = .damaged
    case .locked: self = .locked
    case .ioFailed, .diskFull, .outcomeUnknown, .closed, .internalError, .assetFileNotFound, .assetFileModified,
      .assetNotAvailable, .snapshotTooOld:
      self = .inputOutput
    case .unknownItem, .serverRecordChanged, .changeTokenExpired, .changeTokenForked, .referenceViolation:
      self = .finding
    default: self = .usage
    }
  }
}
