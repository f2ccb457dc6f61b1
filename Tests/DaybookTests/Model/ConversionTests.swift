import Foundation
import Testing

@testable import Daybook

// Swift types that are no kind of value of their own, and what is known of a record under the names that people look for.

@Suite("values of Swift types")
struct ConversionTests {
  enum Genre: String, RecordListElement { case drama, comedy }
  enum Level: Int, RecordValueConvertible { case low = 1, high = 3 }

  /// The record as it comes back from a database.
  private func stored(_ change: (inout Record) -> Void) throws -> Record {
    var record = try Record(type: "Note")
    change(&record)
    return try Database.inMemory().save(record)
  }

  @Test("UUID, URL and Decimal are stored as text and come back as they were")
  func texts() throws {
    let id = UUID()
    let url = try #require(URL(string: "https://example.org/a?b=%20#c"))
    let price = try #require(Decimal(string: "12345678901234567890.123456789"))
    let record = try stored { record in
      record["id"] = id
      record["url"] = url
      record["price"] = price
      record["ids"] = [id, id]
      record["urls"] = [url]
      record["prices"] = [price, -1, 0]
    }
    #expect(record["id"] == id && record["url"] == url && record["price"] == price)
    #expect(record["ids"] == [id, id] && record["urls"] == [url] && record["prices"] == [price, -1, 0])
    #expect(record["id"] == .string(id.uuidString) && record["url"] == .string(url.absoluteString))
    #expect(record["price"] == .string("12345678901234567890.123456789"))
    #expect(record["url"] as UUID? == nil && record["id"] as Decimal? == nil && record["id"] as Int? == nil)
  }

  @Test(
    "what is no UUID, URL or Decimal reads as nil",
    arguments: ["", "1,5", "1.5 €", "NaN", "x", "12x", "0x10", "1.2.3", "1-2", "-", ".", "1e"])
  func notANumber(text: String) throws {
    let record = try stored { $0["text"] = text }
    #expect(record["text"] as Decimal? == nil && record["text"] as UUID? == nil)
    #expect(try stored { $0["list"] = [text, "1"] }["list"] as [Decimal]? == nil)
  }

  @Test("a whole number reads as a decimal, a double does not")
  func decimals() throws {
    let record = try stored { record in
      record["int"] = 7
      record["ints"] = [1, 2]
      record["double"] = 7.5
    }
    #expect(record["int"] == Decimal(7) && record["ints"] == [Decimal(1), 2] && record["double"] as Decimal? == nil)
    for (text, number) in [("-1.50", Decimal(string: "-1.5")), ("2e3", 2000), (".5", Decimal(string: "0.5")), ("7", 7)] {
      #expect(try stored { $0["text"] = text }["text"] == number)
    }
    #expect(throws: DatabaseError.self) { try stored { $0["nan"] = Decimal.nan } }
  }

  @Test("the URL of a file is refused with what keeps a file's content")
  func fileURL() throws {
    let error = #expect(throws: DatabaseError.self) { try stored { $0["photo"] = URL(fileURLWithPath: "/tmp/a.jpg") } }
    #expect(error?.code == .invalidArguments && error?.facts.key == "photo" && error?.message.contains("Asset") == true)
  }

  @Test("sets, optionals, and types with raw values alone and in lists")
  func others() throws {
    let none: UUID? = nil
    let record = try stored { record in
      record["tags"] = Set(["b", "a", "c"])
      record["ids"] = Set<UUID>()
      record["none"] = none
      record["some"] = Optional(Genre.drama)
      record["genres"] = [Genre.comedy, .drama]
      record["genreSet"] = Set([Genre.drama])
      record["level"] = Level.high
      record["numbers"] = Set([3, 1, 2])
    }
    #expect(record["tags"] == Set(["a", "b", "c"]) && record["tags"] == .strings(["a", "b", "c"]))
    #expect(record["numbers"] == .ints([1, 2, 3]) && record["ids"] == Set<UUID>() && !record.keys.contains("none"))
    #expect(record["some"] == Genre.drama && record["genres"] == [Genre.comedy, .drama] && record["level"] == Level.high)
    #expect(record["genreSet"] == Set([Genre.drama]))
    #expect(record["tags"] as [Genre]? == nil && record["genres"] as Level? == nil)
  }

  @Test("a record has its dates and its tag under their names, before the first save none")
  func metadata() throws {
    let new = try Record(type: "Note")
    #expect(new.creationDate == nil && new.modificationDate == nil && new.changeTag == nil)
    let saved = try Database.inMemory().save(new)
    #expect(saved.creationDate == saved.metadata?.creationDate && saved.modificationDate == saved.metadata?.modificationDate)
    #expect(saved.changeTag == saved.metadata?.changeTag && saved.changeTag != nil)
  }
}
