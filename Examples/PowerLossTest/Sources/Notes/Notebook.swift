import Daybook

/// The application's code: notes, and beside them the count of words that its list shows.
///
/// It is given its database, so that a test can give it one on a simulated disk.
public struct Notebook: Sendable {
  private let database: Database

  /// The notes of a database, wherever it lies.
  public init(_ database: Database) { self.database = database }

  /// Saves a note and the count of all words: in one transaction, because they belong together.
  public func add(_ text: String) throws {
    try database.write { transaction in
      var note = try Record(type: "Note")
      note["text"] = text
      try transaction.save(note)
      let id = try Record.ID("statistics")
      var statistics = try transaction.record(id) ?? Record(type: "Statistics", id: id)
      statistics["wordCount"] = (statistics["wordCount"] ?? 0) + Notebook.wordCount(of: text)
      try transaction.save(statistics)
    }
  }

  /// The texts of all notes.
  public var texts: [String] {
    get throws { try database.records(in: .default, ofType: "Note").compactMap { $0["text"] } }
  }

  /// What the list shows.
  public var shownWordCount: Int {
    get throws { try database.record(Record.ID("statistics"))?["wordCount"] ?? 0 }
  }

  /// How many words a text has.
  public static func wordCount(of text: String) -> Int { text.split(separator: " ").count }
}
