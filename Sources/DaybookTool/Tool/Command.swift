/// A command: what it is called, what it takes, and what it does. Parsing, help and completions all read this.
struct Command: Sendable {
  /// An option of a command.
  struct Option: Sendable {
    /// With its dashes: `--zone`, `-o`.
    let name: String
    /// How the help calls its value; nil for a switch.
    var value: String?
    let summary: String
    /// The values that it may have; empty for any.
    var choices: [String] = []
    var mayRepeat = false

    static func flag(_ name: String, _ summary: String) -> Option { Option(name: name, summary: summary) }

    static func value(
      _ name: String, _ value: String, _ summary: String, choices: [String] = [], mayRepeat: Bool = false
    ) -> Option {
      Option(name: name, value: value, summary: summary, choices: choices, mayRepeat: mayRepeat)
    }

    static let json = flag("--json", "Print JSON.")
    /// Of every command.
    static let buffered = flag("--buffered", "Read the file instead of mapping it, for disks that may fail or go away.")
    static let zone = value("--zone", "ZONE", "Only this zone.")
    /// For commands that take the name of a zone.
    static let owner = value("--owner", "OWNER", "Whose zone, where several users have one of the name.")
    static let type = value("--type", "TYPE", "Only records of this type.")
  }

  let name: String
  let summary: String
  /// The positional arguments, as the help shows them; a last one that ends in `…` takes all that follow.
  let positionals: [String]
  /// How many of them may be left out.
  var optionalCount = 0
  var options: [Option] = []
  /// What the help says below the options; lines of at most 100 columns.
  var details = ""
  /// Not in the help: the tool calls it itself.
  var isHidden = false
  /// Whether a call changes FILE: a shell asks first whether it may.
  var changesFile: @Sendable (Arguments) -> Bool = { _ in false }
  let run: @Sendable (Invocation) throws -> ExitStatus

  var takesRest: Bool { positionals.last?.hasSuffix("…") ?? false }

  /// `daybook get FILE ZONE NAME [--json]`
  var usage: String {
    var words = ["daybook", name]
    for (index, positional) in positionals.enumerated() {
      words.append(index >= positionals.count - optionalCount ? "[\(positional)]" : positional)
    }
    for option in options {
      let word = option.value.map { "\(option.name) \($0)" } ?? option.name
      words.append("[\(word)]" + (option.mayRepeat ? "…" : ""))
    }
    return words.joined(separator: " ")
  }
}

/// One call of a command: its arguments and where its words go.
struct Invocation {
  let command: Command
  let arguments: Arguments
  /// Results.
  let output: Output
  /// Messages.
  let errors: Output

  /// A message for whoever watches; it never mixes with the results.
  func note(_ message: String) throws { try errors.line(message) }
}
