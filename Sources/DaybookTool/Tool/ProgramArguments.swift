import Daybook

extension Tool {
  /// Runs one command line as the system hands it over: bytes, with the program's name in front.
  ///
  /// Bytes that are not UTF-8 would become other characters in a text, and another file would be opened or made. They are
  /// refused before anything is looked at.
  package static func run(words: [[UInt8]], output: Output, errors: Output) -> Int32 {
    var arguments: [String] = []
    for word in words.dropFirst() {
      guard let text = String(validating: word, as: UTF8.self) else {
        let problem = ToolError.usage(
          "An argument is not UTF-8: \(ShownText.escaped(bytes: word))",
          advice: "Names and paths are UTF-8 here; another name for the file, or for its directory, helps.")
        return end(with: problem, errors)
      }
      arguments.append(text)
    }
    return run(arguments: arguments, output: output, errors: errors)
  }

  /// The words of this process's command line.
  package static var processWords: [[UInt8]] {
    (0..<Int(CommandLine.argc)).map { index in
      // Safe: the vector has that many C strings, which live as long as the process.
      guard let word = unsafe CommandLine.unsafeArgv[index] else { return [] }
      var bytes: [UInt8] = []
      var position = 0
      while case let byte = unsafe word[position], byte != 0 {
        bytes.append(UInt8(bitPattern: byte))
        position += 1
      }
      return bytes
    }
  }
}
