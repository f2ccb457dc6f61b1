/// Completion scripts, made from what the commands say of themselves.
enum Completions: String, CaseIterable {
  case bash, zsh, fish

  var script: String {
    let commands = Commands.all.filter { !$0.isHidden }
    switch self {
    case .bash: return Self.bash(commands)
    case .zsh: return Self.zsh(commands)
    case .fish: return Self.fish(commands)
    }
  }

  private static func bash(_ commands: [Command]) -> String {
    var cases = ""
    for command in commands where !command.options.isEmpty && command.name != "help" {
      cases += "      \(command.name)) words=\"\(command.options.map(\.name).joined(separator: " "))\" ;;\n"
    }
    return """
      _daybook() {
        local word="${COMP_WORDS[COMP_CWORD]}" words=""
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W "\(commands.map(\.name).joined(separator: " "))" -- "$word"))
          return
        fi
        if [ "${COMP_WORDS[1]}" = help ]; then
          COMPREPLY=($(compgen -W "--all \(commands.map(\.name).joined(separator: " "))" -- "$word"))
          return
        fi
        case "$word" in
          -*)
            case "${COMP_WORDS[1]}" in
      \(cases)      esac
            COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
          *) COMPREPLY=($(compgen -f -- "$word")) ;;
        esac
      }
      complete -o filenames -F _daybook daybook

      """
  }

  private static func quoted(_ text: String) -> String { text.replacing("'", with: "'\\''") }

  private static func zsh(_ commands: [Command]) -> String {
    var names = ""
    var cases = ""
    for command in commands {
      names += "    '\(command.name):\(quoted(command.summary))'\n"
      let options = command.options.map { option in
        let summary = quoted(option.summary).replacing("[", with: "(").replacing("]", with: ")")
        let repeated = option.mayRepeat ? "*" : ""
        let value = option.value == nil ? "" : ":value:(\(option.choices.joined(separator: " ")))"
        return "'\(repeated)\(option.name)[\(summary)]\(value)'"
      }
      guard !options.isEmpty, command.name != "help" else { continue }
      cases += "    \(command.name)) _arguments \(options.joined(separator: " ")) '*:file:_files' ;;\n"
    }
    return """
      #compdef daybook
      local -a commands
      commands=(
      \(names))
      if (( CURRENT == 2 )); then
        _describe command commands
        return
      fi
      shift words
      (( CURRENT-- ))
      case "${words[1]}" in
      \(cases)    help) compadd -- --all; _describe command commands ;;
          *) _files ;;
      esac

      """
  }

  private static func fish(_ commands: [Command]) -> String {
    var lines = ""
    for command in commands {
      lines += "complete -c daybook -n __fish_use_subcommand -f -a \(command.name) -d '\(quoted(command.summary))'\n"
      for option in command.options {
        let name = option.name.hasPrefix("--") ? "-l \(option.name.dropFirst(2))" : "-s \(option.name.dropFirst())"
        let choices = option.choices.isEmpty ? "" : " -f -a '\(option.choices.joined(separator: " "))'"
        lines +=
          "complete -c daybook -n '__fish_seen_subcommand_from \(command.name)' \(name)"
          + "\(option.value == nil ? "" : " -r")\(choices) -d '\(quoted(option.summary))'\n"
      }
    }
    return lines
  }
}
