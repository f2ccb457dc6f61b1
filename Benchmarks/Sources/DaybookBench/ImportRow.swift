import Foundation

/// An import of a CSV file by the tool, beside SQLite's own shell: a process each, from its start to its end.
extension UseRows {
  /// - Parameter tool: the built `daybook`.
  func importCSV(tool: String) -> Row {
    let count = min(recordCount, 200_000)
    let input = directory + "/books.csv"
    let makeInput = {
      if FileManager.default.fileExists(atPath: input) { return }
      var text = "name,title,author,year,pageCount,rating\n"
      for number in 0..<UInt64(count) {
        let book = Book(number)
        text += "\(Book.name(number)),\(book.title),\(book.author),\(book.year),\(book.pageCount),\(book.rating)\n"
      }
      try text.write(toFile: input, atomically: true, encoding: .utf8)
    }
    let daybook = directory + "/import-daybook"
    let sqlite = directory + "/import-sqlite"
    let table =
      "CREATE TABLE book(name TEXT NOT NULL PRIMARY KEY, title TEXT, author TEXT, year INTEGER, pageCount INTEGER, rating REAL);"
    return Row(
      name: "use-import-csv", summary: "import a row of a CSV file of \(count) rows and six columns, names given, by the tool",
      contenders: [
        Contender(
          "daybook", "tool", operations: count,
          prepare: { _ in
            try makeInput()
            try FileManager.default.createDirectory(atPath: daybook, withIntermediateDirectories: true)
          },
          run: { _ in
            try UseRows.run(tool, ["import", daybook + "/books.daybook", input, "--type", "Book", "--id", "name"])
            return 0
          },
          weigh: { _ in try Files.byteCount(in: daybook) }, finish: { _ in try Files.remove(daybook) }),
        Contender(
          "sqlite", "tool", operations: count,
          prepare: { _ in
            try makeInput()
            try FileManager.default.createDirectory(atPath: sqlite, withIntermediateDirectories: true)
          },
          run: { _ in
            try UseRows.run(
              "/usr/bin/env",
              [
                "sqlite3", sqlite + "/books.sqlite", "PRAGMA journal_mode = WAL;", "PRAGMA synchronous = FULL;", table,
                ".import --csv --skip 1 \(input) book",
              ])
            return 0
          },
          weigh: { _ in try Files.byteCount(in: sqlite) }, finish: { _ in try Files.remove(sqlite) }),
      ],
      afterwards: { try Files.remove(input) })
  }

  private static func run(_ path: String, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    if process.terminationStatus != 0 { throw BenchmarkFault("\(path) failed: \(arguments)") }
  }
}
