import Daybook

/// Fields that records of a crash test have for the indexes of each kind, all of them made of the record's number. Beside the one of
/// values there is one of the date of the last save, which each save changes.
enum CrashIndex {
  static func keys(of kind: IndexKind) -> [String] {
    kind == .value ? [key(of: kind), "modificationDate"] : [key(of: kind)]
  }

  static func key(of kind: IndexKind) -> String {
    switch kind {
    case .value: "n"
    case .location: "l"
    case .text: "t"
    }
  }

  /// Some numbers share a place, on both sides of the date line, and some a word.
  private static func place(_ number: Int64) -> Location {
    Location(latitude: Double(number % 5) * 20 - 40, longitude: number % 2 == 0 ? 179.99 : -179.99)
  }

  private static func word(_ number: Int64) -> String { "Wörd\(number % 4)" }

  static func set(_ record: inout Record, _ number: Int64) {
    record["l"] = place(number)
    record["t"] = "\(word(number)) of all"
  }

  /// What finds the records of a number, and those of which `finds` says so.
  static func predicate(_ kind: IndexKind, _ number: Int64) -> Query.Predicate {
    switch kind {
    case .value: .field("n") == number
    case .location: .field("l").near(place(number), within: 10)
    case .text: .field("t").tokens("word\(number % 4)")
    }
  }

  static func finds(_ kind: IndexKind, _ number: Int64, _ other: Int64) -> Bool {
    switch kind {
    case .value: number == other
    case .location: number % 5 == other % 5
    case .text: number % 4 == other % 4
    }
  }

  static func indexes(_ kinds: some Sequence<IndexKind>) -> [Schema.Index] {
    kinds.flatMap { kind in keys(of: kind).map { .init(key: $0, kind: kind) } }
  }

  static func schema(_ kinds: some Sequence<IndexKind>) -> Schema {
    Schema(types: [.init(name: "Note", indexes: indexes(kinds))])
  }
}
