import Daybook

extension Commands {
  static let help = Command(
    name: "help", summary: "List the commands, or say more about one.", positionals: ["COMMAND"], optionalCount: 1,
    options: [.flag("--all", "List those too that only trials of Daybook itself run.")]
  ) { invocation in
    guard let name = invocation.arguments.positionals.first else {
      try invocation.output.write(Help.overview(withHidden: invocation.arguments.has("--all")))
      return .done
    }
    guard let command = all.first(where: { $0.name.equalsBytes(of: name) }) else {
      let nearest = Spelling.nearest(to: name, among: all.filter { !$0.isHidden }.map(\.name))
      throw ToolError.usage(
        "There is no command \(name)\(nearest.map { "; \($0) is one" } ?? "").",
        advice: "`daybook help` lists the commands.")
    }
    try invocation.output.write(Help.text(of: command))
    return .done
  }

  static let completions = Command(
    name: "completions", summary: "Print what a shell needs to complete commands and options.",
    positionals: ["SHELL"],
    details: """
      SHELL is bash, zsh or fish.
        bash   source <(daybook completions bash)
        zsh    daybook completions zsh > "${fpath[1]}/_daybook"
        fish   daybook completions fish > ~/.config/fish/completions/daybook.fish
      """
  ) { invocation in
    guard let shell = Completions.allCases.first(where: { $0.rawValue.equalsBytes(of: invocation.arguments[0]) }) else {
      throw ToolError.usage("There are completions for bash, zsh and fish.")
    }
    try invocation.output.write(shell.script)
    return .done
  }
}
