import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Parts of texts and patterns beside plain loops, and hostile ones for their work.

@Suite("parts of texts", .timeLimit(.minutes(15)))
struct TextPartsTests {
  /// A record as it is read from a database.
  private func record(_ text: String) throws -> Record {
    try Record(
      type: "Note", id: Record.ID("n"), metadata: .init(changeTag: "t", creationDate: Date(), modificationDate: Date()),
      values: ["t": .string(text)])
  }

  private func accepts(_ predicate: Query.Predicate, _ text: String) throws -> Bool {
    BodyFilter(predicate, dialect: .extended, now: Date()).accepts(try record(text).body)
  }

  @Test("what repeats itself is found as a loop finds it, with wildcards and without", arguments: 0..<4 as Range<UInt64>)
  func model(seed: UInt64) throws {
    var random = RandomQueries(seed: seed)
    func text(_ letters: [String], _ count: Int) -> String { (0..<count).map { _ in random.pick(letters) }.joined() }
    var passed = 0
    for _ in 0..<1500 {
      let record = try record(text(["a", "b", "é"], random.number(30)))
      let part = text(["a", "b", "É"], random.number(6))
      let pattern = text(["a", "b", "a", "?", "*", "é"], random.number(9))
      let options = random.pick([[], .ignoringCase, .ignoringAccents] as [Query.TextOptions])
      let field = Query.Field(key: "t")
      let tests: [Query.Condition.Test] = [
        .contains(.string(part)), .text(.pattern, ByteText(pattern)), .text(.suffix, ByteText(part)),
      ]
      for test in tests {
        let predicate = Query.Predicate(Query.Condition(field, test, options))
        let expected = predicate.matches(record)
        if expected { passed += 1 }
        let filter = BodyFilter(predicate, dialect: .extended, now: Date())
        // Twice: nothing of the first text is left.
        for _ in 0..<2 { #expect(filter.accepts(record.body) == expected, "\(predicate) on \(record.debugDescription)") }
      }
    }
    #expect(passed > 500)
  }

  @Test("a pattern with a wildcard may be longer than a word of bits", arguments: [1, 63, 64, 65, 127, 128, 129, 200])
  func longPatterns(count: Int) throws {
    var random = RandomQueries(seed: UInt64(count))
    for _ in 0..<60 {
      let letters = (0..<count).map { _ in random.pick(["a", "b"]) }
      var pattern = letters
      for _ in 0..<3 { pattern[random.number(count)] = "?" }
      var text = letters
      if random.chance(2) { text[random.number(count)] = "b" }
      let before = (0..<random.number(70)).map { _ in random.pick(["a", "b"]) }.joined()
      let predicate: Query.Predicate = Query.Field(key: "t").isLike("*" + pattern.joined() + "*")
      let record = try record(before + text.joined() + "b")
      #expect(BodyFilter(predicate, dialect: .extended, now: Date()).accepts(record.body) == predicate.matches(record))
    }
  }

  /// An element that counts how often it is compared.
  private struct Counted: Equatable {
    static let comparisons = Locked(0)
    let letter: Character
    static func == (first: Counted, second: Counted) -> Bool {
      comparisons.withLock { $0 += 1 }
      return first.letter == second.letter
    }
  }

  @Test("no text costs more than two comparisons for each of its letters, and a part two for each of its own")
  func comparisons() {
    func count(_ work: () -> Void) -> Int {
      Counted.comparisons.withLock { $0 = 0 }
      work()
      return Counted.comparisons.withLock { $0 }
    }
    func elements(_ text: String) -> [Counted] { text.map { Counted(letter: $0) } }
    let many = String(repeating: "a", count: 2000)
    for (text, part) in [
      (many, String(repeating: "a", count: 999) + "b"), (many, "b" + String(repeating: "a", count: 999)),
      (String(repeating: "ab", count: 1000), String(repeating: "ab", count: 300) + "c"),
      (String(repeating: "aab", count: 600), String(repeating: "aab", count: 200) + "aaa"),
    ] {
      let (text, part) = (elements(text), elements(part))
      var fallbacks: [Int32] = []
      #expect(count { fallbacks = TextParts.fallbacks(of: part) } <= 2 * part.count)
      var seen = 0
      let work = count {
        for element in text { seen = TextParts.seen(after: seen, element, part, fallbacks, from: 0) }
      }
      #expect(work <= 2 * text.count && seen < part.count)
    }
  }

  @Test("aaaa…ab is looked for in a megabyte of a, and a hundred thousand words in a text, without trying every place")
  func hostile() throws {
    // Tried at every place, this takes hours.
    let text = String(repeating: "a", count: 1 << 20)
    let half = String(repeating: "a", count: 1 << 19)
    let field = Query.Field(key: "t")
    func predicate(_ test: Query.Condition.Test, _ options: Query.TextOptions = []) -> Query.Predicate {
      Query.Predicate(Query.Condition(field, test, options))
    }
    #expect(try !accepts(predicate(.contains(.string(half + "b"))), text))
    #expect(try accepts(predicate(.contains(.string(half + "b"))), text + "b"))
    #expect(try !accepts(predicate(.contains(.string(half + "b")), .ignoringCase), text))
    #expect(try !accepts(field.isLike("*\(half)b*"), text))
    #expect(try !accepts(field.isLike("*\(half)*\(half)*a"), text))
    #expect(try !accepts(field.isLike("*a?\(half.prefix(500))b*"), text))
    #expect(try accepts(field.isLike("*a?\(half.prefix(500))b*"), text + "b"))
    let words = (0..<100_000).map { "w\($0)" }.joined(separator: " ")
    #expect(try !accepts(field.tokens(words), String(repeating: "w1x ", count: 1 << 15)))
    #expect(try accepts(field.tokens(words), String(repeating: "w1x ", count: 1 << 15) + "w99999"))
  }

  @Test("LIKE with a ? and tens of thousands of different letters takes memory as the pattern is long, not its square")
  func manyLetters() throws {
    // A mask for each of its letters would be four hundred megabytes.
    let letters = (0..<60_000).map { String(UnicodeScalar(UInt32(0x20000 + $0)) ?? "x") }
    let pattern = letters[..<30_000].joined() + "?" + letters[30_000...].joined()
    var parts = TextParts()
    parts.append(LikePattern("*" + pattern + pattern + "*", []))
    let scalarCount = 2 * 60_001
    #expect(parts.maskWordCount <= scalarCount + scalarCount / 64 + 1)
    let field = Query.Field(key: "t")
    let like = field.isLike("*\(pattern)*")
    let text = letters[..<30_000].joined() + "é" + letters[30_000...].joined()
    #expect(try accepts(like, "x" + text + "x"))
    #expect(try !accepts(like, "x" + letters.joined() + "x"))
  }
}
