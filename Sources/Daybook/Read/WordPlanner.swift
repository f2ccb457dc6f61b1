import DaybookEngine

/// What of a type's indexes of words a predicate leaves: every record that passes has an entry in one of the ranges.
///
/// A search in a field asks the index of that field. A search in all texts asks the indexes of all fields that have ever had one; where
/// one of these has no index, a record may pass that no index has.
struct WordPlanner {
  /// Ranges, and the indexes that they are of.
  struct Search {
    var ranges: [IndexRange]
    var definitions: [IndexDefinition]
  }

  /// More of them are not counted.
  private static let largestCount = 16

  private let definitions: [IndexDefinition]
  /// The indexes of all fields with texts; nil where one of these has none.
  private let ofAllTexts: [IndexDefinition]?

  /// - Parameters:
  ///   - definitions: of indexes of words, one at least.
  ///   - textKeys: the keys of the type's fields that have ever had texts, each once; nil when nothing is searched in all of them.
  init(_ definitions: [IndexDefinition], textKeys: [[UInt8]]?) {
    self.definitions = definitions
    let ofAllTexts = (textKeys ?? []).compactMap { key in definitions.first { $0.key == key } }
    let isWhole = ofAllTexts.count == textKeys?.count || isMutant("search-some-texts")
    self.ofAllTexts = isWhole ? ofAllTexts : nil
  }

  /// The ways to find all records that pass, of which the one that leaves the fewest is to be taken: a record with two words has an
  /// entry for each, so either word is one. Empty where indexes of words are no help.
  func searches(for predicate: Query.Predicate) -> [Search] {
    guard case .and(let parts) = predicate.term else { return search(for: predicate).map { [$0] } ?? [] }
    return Array(parts.lazy.compactMap { search(for: $0) }.prefix(Self.largestCount))
  }

  private func search(for predicate: Query.Predicate) -> Search? {
    switch predicate.term {
    case .constant, .not: return nil
    case .condition(let condition): return search(for: condition)
    case .and(let parts): return parts.lazy.compactMap { search(for: $0) }.first
    case .or(let parts):
      var result = Search(ranges: [], definitions: [])
      for part in parts {
        guard let search = search(for: part) else { return nil }
        result.ranges += search.ranges
        for definition in search.definitions where !result.definitions.contains(definition) {
          result.definitions.append(definition)
        }
      }
      guard !result.definitions.isEmpty else { return nil }
      result.ranges = IndexRange.union(result.ranges)
      return result
    }
  }

  private func search(for condition: Query.Condition) -> Search? {
    guard case .words(let text) = condition.test else { return nil }
    let asked: [IndexDefinition]
    if condition.field.system == .text {
      guard let ofAllTexts else { return nil }
      asked = ofAllTexts
    } else {
      guard condition.field.system == nil else { return nil }
      asked = definitions.filter { UTF8Order.equal($0.keyName, condition.field.name) }
    }
    if asked.isEmpty { return nil }
    let words = SearchWords.words(of: text.text)
    if words.isEmpty { return Search(ranges: [], definitions: asked) }
    return Search(ranges: IndexRange.union(asked.flatMap { ranges(of: words, in: $0.number) }), definitions: asked)
  }

  /// The entries of some words, and of the records that have more words than count.
  private func ranges(of words: [String], in number: UInt16) -> [IndexRange] {
    let start = IndexRange(number: number).lower
    let buffer = ByteBuffer(capacity: 128)
    var result = words.map { word in
      buffer.truncate(to: 0)
      buffer.append(start)
      WordKey.append(word, to: buffer)
      return IndexRange(lower: buffer.view.array, upper: buffer.view.array + [IndexKey.afterNames])
    }
    if !isMutant("forget-many-words") {
      result.append(IndexRange(lower: start + [IndexKey.Rank.manyWords], upper: start + [IndexKey.Rank.manyWords + 1]))
    }
    return result
  }
}

extension ReadView {
  /// The keys of a type's fields that have ever had a text, or a list of texts.
  func textKeys(ofType type: String) throws(DatabaseError) -> [[UInt8]] {
    let texts = KindBits(.string, isEncrypted: false).union(KindBits(.strings, isEncrypted: false))
    let prefix = Array(type.utf8) + [0]
    let key = ByteBuffer(capacity: 512)
    var result: [[UInt8]] = []
    try asDatabaseError { () throws(PageFault) in
      var cursor = reader.cursor(in: root(.schema))
      try prefix.withView { (prefix) throws(PageFault) in
        try cursor.start(at: prefix)
        while try cursor.next() {
          cursor.key(into: key)
          guard key.count >= prefix.count, UTF8Order.equal(key.view.prefix(prefix.count), prefix) else { break }
          guard cursor.value.count == 4 else { throw reader.fault(in: root(.schema)) }
          if KindBits(rawValue: cursor.value.uint32(at: 0)).intersects(texts) {
            result.append(key.view.dropFirst(prefix.count).array)
          }
        }
      }
    }
    return result
  }
}
