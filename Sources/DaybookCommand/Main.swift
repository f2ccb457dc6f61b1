import DaybookTool

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The process around the tool: arguments in, exit status out. Everything else is in `Tool`, where tests and fuzzers
/// reach it: an executable cannot be linked into another.
@main
enum Main {
  static func main() {
    exit(Tool.run(words: Tool.processWords, output: .standardOutput, errors: .standardError))
  }
}
