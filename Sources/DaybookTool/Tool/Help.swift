/// The texts of `help`, made from what the commands say of themselves.
enum Help {
  /// The commands that are for people, a line each.
  static var overview: String { overview(withHidden: false) }

  /// - Parameter withHidden: whether those follow that only the project's own scripts run.
  static func overview(withHidden: Bool) -> String {
    var text = """
      daybook: look into and change Daybook databases.

      Usage: daybook COMMAND FILE …


      """
    text += list(Commands.all.filter { !$0.isHidden })
    if withHidden {
      text += "\nFor trials of Daybook itself; they may change or go without notice:\n\n"
      text += list(Commands.all.filter(\.isHidden))
    }
    text += """

      `daybook help COMMAND` says more. `daybook --version` prints the version.
      With `--buffered` any command reads the file instead of mapping it, for disks that may fail or go away.
      Results go to standard output, messages to standard error. Commands that only read work beside a live application.
      Exit status: 0 done, 1 a finding, 2 wrong usage, 3 the file is damaged, 4 locked, 5 input or output failed,
      6 the input of an import is malformed. A zone that is not there is a finding where a record in it is asked for (get,
      history, delete), and wrong usage where it says what to look at.

      """
    return text
  }

  /// One command, with its options and details.
  static func text(of command: Command) -> String {
    var text = "\(command.summary)\n\nUsage: \(wrapped(command.usage))\n"
    if !command.options.isEmpty {
      let names = command.options.map { option in option.value.map { "\(option.name) \($0)" } ?? option.name }
      let width = names.map(\.count).max() ?? 0
      text += "\n"
      for (name, option) in zip(names, command.options) {
        let choices = option.choices.isEmpty ? "" : " One of \(option.choices.joined(separator: ", "))."
        text += "  \(padded(name, to: width))  \(option.summary)\(choices)\n"
      }
    }
    if !command.details.isEmpty { text += "\n\(command.details)\n" }
    return text
  }

  private static func list(_ commands: [Command]) -> String {
    let width = commands.map(\.name.count).max() ?? 0
    return commands.map { "  \(padded($0.name, to: width))  \($0.summary)\n" }.joined()
  }

  static func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  /// Breaks a long usage between its words in brackets, indented under its beginning.
  private static func wrapped(_ usage: String) -> String {
    var lines = [""]
    for part in usage.replacing(" [", with: "\u{0}[").split(separator: "\u{0}") {
      let last = lines[lines.count - 1]
      if !last.isEmpty, last.count + part.count > 96 {
        lines.append("         \(part)")
      } else {
        lines[lines.count - 1] = last.isEmpty ? String(part) : "\(last) \(part)"
      }
    }
    return lines.joined(separator: "\n")
  }
}
