import Foundation

/// The process around the tool: arguments in, exit status out. Everything else is in ``Tool``, where tests reach it.
@main
enum Main {
  static func main() {
    let status = Tool.run(
      arguments: Array(CommandLine.arguments.dropFirst()), output: .standardOutput, errors: .standardError)
    exit(status)
  }
}
