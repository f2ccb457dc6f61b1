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
    // A file that may grow no further is an error of the write, as a full disk is.
    signal(SIGXFSZ, SIG_IGN)
    exit(Tool.run(words: Tool.processWords, output: .standardOutput, errors: .standardError))
  }
}
