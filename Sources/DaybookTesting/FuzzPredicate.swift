import Daybook
import DaybookEngine
import Foundation

/// Text that may be a predicate.
///
///     1  bits: 1 the dialect, 2 and 4 how many arguments there are (0 to 3)
///        the text, as UTF-8; what is none is replaced
package enum FuzzPredicate {
  private static let arguments: [Record.Value] = ["D", 7.5, [1, 2].recordValue]

  /// What predicates are asked about. Made once; the last one is empty.
  private static let records: [Record] = {
    func record(_ values: [String: Record.Value]) -> Record? {
      let date = Date(timeIntervalSinceReferenceDate: 7e8)
      guard let id = try? Record.ID("n"),
        let record = try? Record(
          type: "Movie", id: id,
          metadata: .init(changeTag: "t", creationDate: date, creatorUserID: "_u", modificationDate: date), values: values)
      else { return nil }
      return record
    }
    return [
      record([
        "title": "Dune of the Été", "year": 2021, "rating": 7.5, "genres": .strings(["Drama", "SciFi"]), "a": 1,
        "b": .ints([1, 2]),
        "location": .location(.init(latitude: 29.6, longitude: 35.4)), "date": .date(Date(timeIntervalSinceReferenceDate: 5)),
        "data": .bytes(Data([1, 2])),
      ]),
      record(["title": "", "a": "x", "b": .strings([]), "year": .doubles([2021, .infinity])]), record([:]),
    ].compactMap { $0 }
  }()

  /// - Throws: what was found.
  package static func run(_ input: [UInt8]) throws {
    var input = FuzzInput(input)
    let bits = input.byte()
    let text = String(decoding: input.rest(), as: UTF8.self)
    let predicate: Query.Predicate
    do throws(DatabaseError) {
      predicate = try Query.Predicate(format: text, arguments: Array(arguments.prefix(bits >> 1 & 3)))
    } catch {
      guard error.code == .invalidArguments else { throw Forgery.Finding("refused with \(error.code)") }
      guard 0...text.utf8.count ~= error.facts.offset ?? 0 else { throw Forgery.Finding("the fault is outside the text") }
      return
    }
    let printed = predicate.description
    guard let again = try? Query.Predicate(format: printed), again == predicate, again.description == printed else {
      throw Forgery.Finding("a predicate is not read back from its text")
    }
    let now = Date(timeIntervalSinceReferenceDate: 7e8 + 1)
    let dialect: Dialect = bits & 1 == 0 ? .extended : .cloudKit
    for record in records
    where predicate.matches(record, now: now, dialect: dialect) != predicate.matchesEncoded(record, now: now, dialect: dialect)
    {
      throw Forgery.Finding("a record and its bytes are answered differently")
    }
  }
}
