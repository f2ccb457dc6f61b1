import Daybook
import DaybookEngine
import Foundation

extension Commands {
  static let shell = Command(
    name: "shell", summary: "Read commands line by line, all for one database.", positionals: ["FILE"],
    options: [.flag("--write", "Allow commands that change the database.")],
    details: """
      A line is a command without daybook and FILE: `get Library dune`, `query Movie 'year > 2000' --limit 5`. Blanks are
      between words; quotes '…' and "…" keep them, a backslash keeps the next character. Lines that begin with # are passed over.
      help lists the commands, help COMMAND says more; quit, exit or the end of the input ends it.
      Each line opens the file for itself and sees what others have written until then; the file is locked only while a line writes.
      The exit status is that of the first line that was not done.
        echo 'count = types' | daybook shell movies.daybook
      """
  ) { invocation in
    let shell = Shell(invocation)
    return try shell.run(LineReader(.standardInput))
  }
}

/// One session: the lines of an input, each a command for the same file.
private struct Shell {
  private let invocation: Invocation
  private let path: String
  private let mayWrite: Bool
  private let isBuffered: Bool
  private let isInteractive = isatty(0) == 1

  init(_ invocation: Invocation) {
    self.invocation = invocation
    let path = invocation.arguments[0]
    // It comes before the options of each line, and must not look like one.
    self.path = path.startsWithBytes(of: "-") ? "./" + path : path
    mayWrite = invocation.arguments.has("--write")
    isBuffered = invocation.arguments.has("--buffered")
  }

  func run(_ lines: LineReader) throws -> ExitStatus {
    // A path that leads nowhere is told at once, and not with each line.
    if !mayWrite { _ = try invocation.reading(path) { _ in .done } }
    var status = ExitStatus.done
    while true {
      if isInteractive {
        try invocation.errors.write("daybook> ")
        try invocation.errors.flush()
      }
      guard let line = try lines.next() else { break }
      let result: ExitStatus
      do {
        guard let found = try run(line) else { break }
        result = found
      } catch {
        try invocation.output.flush()
        result = Tool.report(error, invocation.errors)
      }
      try invocation.output.flush()
      try invocation.errors.flush()
      if status == .done { status = result }
    }
    if isInteractive { try invocation.errors.line() }
    return status
  }

  /// Runs a line; nil when it ends the session.
  private func run(_ line: [UInt8]) throws -> ExitStatus? {
    guard let text = String(validating: line, as: UTF8.self) else {
      throw ToolError.usage("A line is not UTF-8: \(ShownText.escaped(bytes: line))")
    }
    let words: [String]
    do { words = try CommandWords.words(of: text) } catch {
      switch error {
      case .open(let quote): throw ToolError.usage("A quote is not closed: \(quote)", advice: "'\\'' is a quote in quotes.")
      case .backslash: throw ToolError.usage("Nothing follows the backslash at the end of the line.")
      }
    }
    guard let name = words.first, !name.startsWithBytes(of: "#") else { return .done }
    if name.isWord("quit", "exit"), words.count == 1 { return nil }
    if name.isWord("help") {
      if words.count > 1 { return try Tool.start(words, invocation.output, invocation.errors) }
      try list()
      return .done
    }
    guard let command = Commands.all.first(where: { $0.name.equalsBytes(of: name) }), isOfShell(command) else {
      let nearest = Spelling.nearest(to: name, among: Commands.all.filter(isOfShell).map(\.name))
      throw ToolError.usage(
        "There is no command \(name) here\(nearest.map { "; \($0) is one" } ?? "").", advice: "help lists the commands.")
    }
    let rest = Array(words.dropFirst())
    if rest.prefix(while: { !$0.isWord("--") }).contains(where: { $0.isWord("--help", "-h") }) {
      try invocation.output.write(Help.text(of: command))
      return .done
    }
    let arguments = try Arguments((isBuffered ? ["--buffered"] : []) + [path] + rest, for: command)
    if command.changesFile(arguments), !mayWrite {
      throw ToolError.usage("\(name) would change the database.", advice: "daybook shell FILE --write allows that.")
    }
    // The lines that follow are no rows.
    if arguments.positionals.dropFirst().contains(where: { $0.isWord("-") }), command.name.isWord("import") {
      throw ToolError.usage("The input of this shell cannot be imported, too.", advice: "Give the path of a file.")
    }
    return try command.run(
      Invocation(command: command, arguments: arguments, output: invocation.output, errors: invocation.errors))
  }

  /// Whether a command is for one file, and ends by itself.
  private func isOfShell(_ command: Command) -> Bool {
    !command.isHidden && command.positionals.first == "FILE" && !command.name.isWord("shell", "watch")
  }

  private func list() throws {
    let commands = Commands.all.filter(isOfShell)
    let width = commands.map(\.name.count).max() ?? 0
    for command in commands {
      try invocation.output.line("  \(Help.padded(command.name, to: width))  \(command.summary)")
    }
    try invocation.output.line("help COMMAND says more; quit ends it.")
  }
}

/// The lines of a stream, as they come. Byte by byte: a person waits for the answer to each, and reading more would wait for more.
private final class LineReader {
  /// A longer line is no command.
  private static let longestByteCount = 1 << 20
  private let input: FileHandle

  init(_ input: FileHandle) { self.input = input }

  /// Nil at the end.
  func next() throws -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      let byte: UInt8?
      do { byte = try input.read(upToCount: 1)?.first } catch {
        throw ToolError(.inputOutput, "Standard input cannot be read.", advice: "Is it closed, or a directory?")
      }
      guard let byte else { return line.isEmpty ? nil : line }
      if byte == 0x0A { return line }
      if line.count == Self.longestByteCount { throw ToolError.usage("A line is longer than a megabyte.") }
      line.append(byte)
    }
  }
}
