import Daybook
import DaybookEngine

/// The command `daybook`: finds the command, parses its arguments, runs it, and turns errors into words and a status.
package enum Tool {
  /// The version of the tool and the library.
  static let version = "0.1.0"

  /// Runs one command line without the program's name.
  ///
  /// - Returns: the exit status; see ``ExitStatus``.
  package static func run(arguments: [String], output: Output, errors: Output) -> Int32 {
    var status: ExitStatus
    do {
      status = try start(arguments, output, errors)
      try output.flush()
    } catch {
      // Results that were found before the error come before its message.
      try? output.flush()
      status = report(error, errors)
    }
    try? errors.flush()
    return status.rawValue
  }

  /// Ends before a command was begun.
  static func end(with problem: ToolError, _ errors: Output) -> Int32 {
    let status = report(problem, errors)
    try? errors.flush()
    return status.rawValue
  }

  /// Finds the command that the first word names, and runs it.
  static func start(_ words: [String], _ output: Output, _ errors: Output) throws -> ExitStatus {
    guard let name = words.first else {
      try errors.write(Help.overview)
      return .usage
    }
    if name.isWord("--help", "-h") {
      try output.write(Help.overview)
      return .done
    }
    if name.isWord("--version", "version") {
      try output.line("daybook \(version) (file format \(FileHeader.formatVersion))")
      return .done
    }
    guard let command = Commands.all.first(where: { $0.name.equalsBytes(of: name) }) else {
      let names = Commands.all.filter { !$0.isHidden }.map(\.name)
      let nearest = Spelling.nearest(to: name, among: names)
      throw ToolError.usage(
        "There is no command \(name)\(nearest.map { "; \($0) is one" } ?? "").",
        advice: "`daybook help` lists the commands.")
    }
    let rest = Array(words.dropFirst())
    let beforeDashes = rest.prefix { !$0.isWord("--") }
    if beforeDashes.contains(where: { $0.isWord("--help", "-h") }) {
      try output.write(Help.text(of: command))
      return .done
    }
    let arguments = try Arguments(rest, for: command)
    // The system would call an empty path a missing file, and not say which.
    for (name, path) in zip(command.positionals, arguments.positionals)
    where path.isEmpty && ["FILE", "INPUT", "OUT"].contains(name) {
      throw ToolError.usage("\(name) is empty: give the path of a file.", advice: "Usage: \(command.usage)")
    }
    if command.positionals.first == "FILE" { try refuseWritingInto(arguments[0], output, errors) }
    return try command.run(Invocation(command: command, arguments: arguments, output: output, errors: errors))
  }

  /// `daybook dump FILE >> FILE` would end the log with text. Asked before the file is opened: what is said if that fails
  /// would go there, too.
  private static func refuseWritingInto(_ path: String, _ output: Output, _ errors: Output) throws {
    let streams = [errors, output].filter { $0.descriptor != nil }
    guard !streams.isEmpty, !isMutant("write-into-the-database"), let rules = Database.outputRules(forFileAt: path) else {
      return
    }
    for stream in streams {
      do { try stream.check(rules) } catch {
        // Not even the reason may be written there.
        if stream === errors { errors.mute() }
        throw error
      }
    }
  }

  /// Says what went wrong and what to do about it.
  static func report(_ error: any Error, _ errors: Output) -> ExitStatus {
    let problem = ToolError(untyped: error)
    try? errors.line("daybook: \(problem.message)")
    if let advice = problem.advice { try? errors.line("  \(advice)") }
    return problem.status
  }
}
