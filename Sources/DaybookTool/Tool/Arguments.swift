import Daybook
import DaybookEngine

/// What stood behind the command's name, sorted into positional arguments and options.
///
/// `--name value` and `--name=value` are the same; `--` ends the options; `-` alone is a positional argument.
struct Arguments: Sendable {
  private(set) var positionals: [String] = []
  private var values: [String: [String]] = [:]
  private var flags: Set<String> = []

  /// - Throws: a usage error that says what would have been right.
  init(_ words: [String], for command: Command) throws(ToolError) {
    var index = 0
    var isPastOptions = false
    while index < words.count {
      let word = words[index]
      index += 1
      if isPastOptions || !word.startsWithBytes(of: "-") || word.isWord("-") || Self.isNegativeNumber(word) {
        positionals.append(word)
        continue
      }
      if word.isWord("--") {
        isPastOptions = true
        continue
      }
      var name = word
      var value: String?
      if word.startsWithBytes(of: "--"), let parts = word.splitAtEquals() { (name, value) = parts }
      guard let option = (command.options + [.buffered]).first(where: { $0.name.equalsBytes(of: name) }) else {
        throw Self.unknownOption(name, command)
      }
      guard option.value != nil else {
        if value != nil { throw .usage("\(name) takes no value.", advice: command.usage) }
        flags.insert(name)
        continue
      }
      if value == nil, index < words.count {
        value = words[index]
        index += 1
      }
      guard let value else {
        throw .usage("\(name) needs a value: \(name) \(option.value ?? "").", advice: command.usage)
      }
      if !option.choices.isEmpty, !option.choices.contains(where: { $0.equalsBytes(of: value) }) {
        throw .usage("\(name) is one of \(option.choices.joined(separator: ", ")).", advice: command.usage)
      }
      if option.value == "DIR" { try Self.checkPath(value, name) }
      if values[name] != nil, !option.mayRepeat {
        throw .usage("\(name) is given twice.", advice: command.usage)
      }
      values[name, default: []].append(value)
    }
    try checkPositionals(command)
  }

  private func checkPositionals(_ command: Command) throws(ToolError) {
    let needed = command.positionals.count - command.optionalCount
    if positionals.count < needed {
      throw .usage("\(command.positionals[positionals.count]) is missing.", advice: "Usage: \(command.usage)")
    }
    if positionals.count > command.positionals.count, !command.takesRest {
      throw .usage(
        "There is one argument too many: \(positionals[command.positionals.count]).",
        advice: "Usage: \(command.usage)")
    }
    for (name, path) in zip(command.positionals, positionals) where ["FILE", "INPUT", "OUT"].contains(name) {
      try Self.checkPath(path, name)
    }
  }

  /// No system opens a longer one, and to take one of many marks to pieces takes the square of their number.
  private static let longestPathByteCount = 4096

  private static func checkPath(_ path: String, _ name: String) throws(ToolError) {
    if path.utf8.count > longestPathByteCount {
      throw ToolError(.inputOutput, "\(name) is longer than a path may be.", advice: "A path has at most 4,096 bytes.")
    }
  }

  private static func isNegativeNumber(_ word: String) -> Bool {
    word.utf8.dropFirst().first.map { $0 >= 0x30 && $0 <= 0x39 } ?? false
  }

  private static func unknownOption(_ name: String, _ command: Command) -> ToolError {
    let known = command.options.map(\.name)
    // What other programs call it.
    let others = ["--fields": "--keys", "--field": "--keys", "--columns": "--keys", "--order": "--sort", "--filter": "--where"]
    let other = others.first { $0.key.equalsBytes(of: name) }?.value
    let nearest = other.flatMap { known.contains($0) ? $0 : nil } ?? Spelling.nearest(to: name, among: known)
    return .usage(
      "There is no option \(name)\(nearest.map { "; \($0) is one" } ?? "").", advice: "Usage: \(command.usage)")
  }

  /// A positional argument that the command requires, or that the caller knows to be there.
  subscript(index: Int) -> String { positionals[index] }

  /// The value of an option that is given at most once.
  func value(_ name: String) -> String? { values[name]?.last }

  /// All values of an option, in order.
  func allValues(_ name: String) -> [String] { values[name] ?? [] }

  /// Whether a switch is given.
  func has(_ name: String) -> Bool { flags.contains(name) }

  /// The value of an option as a number above zero.
  func count(_ name: String) throws(ToolError) -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), number > 0 else { throw .usage("\(name) needs a whole number above zero.") }
    return number
  }
}
