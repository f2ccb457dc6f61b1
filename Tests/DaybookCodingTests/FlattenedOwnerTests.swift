import Daybook
import DaybookCoding
import Foundation
import Testing

// Which fields are a flattened value's: what is gone does not come back, what is there is read as what it was, or is refused.

private let flat = {
  var options = RecordCodingOptions()
  options.nested = .flattened
  return options
}()

private func flat(_ keys: RecordCodingOptions.KeyStrategy) -> RecordCodingOptions {
  var options = flat
  options.keys = keys
  return options
}

/// Encodes what it has in its own place.
@propertyWrapper private struct Kept<Value: Codable & Equatable>: Codable, Equatable {
  var wrappedValue: Value
  init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  init(from decoder: any Decoder) throws { wrappedValue = try decoder.singleValueContainer().decode(Value.self) }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

@Suite("owners of flattened fields")
struct FlattenedOwnerTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  private func read<T: RecordCodable>(_ value: T, _ options: RecordCodingOptions = .init()) throws -> T {
    try RecordDecoder(options: options).decode(T.self, from: RecordEncoder(options: options).encode(value))
  }

  private func code(_ value: some RecordEncodable, _ options: RecordCodingOptions = .init()) -> RecordCodingError.Code? {
    do {
      _ = try RecordEncoder(options: options).encode(value)
      return nil
    } catch { return error.code }
  }

  /// Encodes its only key with an encoder of its own.
  private struct Noted: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["inner": .flattened]
    struct Inner: Codable, Equatable {
      var note: String?
      init(note: String?) { self.note = note }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        var single = container.superEncoder(forKey: .note).singleValueContainer()
        if let note { try single.encode(note) } else { try single.encodeNil() }
      }
    }
    var recordName = "i"
    var inner: Inner?
  }

  // MARK: dictionaries

  private struct InPlace<Value: Codable & Equatable>: Codable, Equatable {
    var all: [String: Value]
    init(_ all: [String: Value]) { self.all = all }
    init(from decoder: any Decoder) throws { all = try .init(from: decoder) }
    func encode(to encoder: any Encoder) throws { try all.encode(to: encoder) }
  }

  private struct Bag<Value: Codable & Equatable>: RecordCodable, Equatable {
    static var recordType: String { "Bag" }
    var recordName = "b"
    var bag: InPlace<Value>
  }

  private struct Named: RecordEncodable {
    var all: [String: Noted.Inner]
    var recordName: String { "n" }
    func encode(to encoder: any Encoder) throws { try all.encode(to: encoder) }
  }

  @Test("a dictionary that a type encodes in its place was flattened with values that have keys, and read as another one")
  func dictionaryInPlace() throws {
    #expect(code(Bag(bag: InPlace(["b": ["x": 1]])), flat) == .unsupportedValue)
    #expect(code(Bag(bag: InPlace(["b": Noted.Inner(note: "n")])), flat) == .unsupportedValue)
    #expect(code(Named(all: ["b": Noted.Inner(note: "n")]), flat) == .unsupportedValue)
    #expect(try read(Bag(bag: InPlace(["b": 1, "b_c": 2])), flat) == Bag(bag: InPlace(["b": 1, "b_c": 2])))
  }

  private struct Scores: RecordCodable, Equatable {
    var recordName = "s"
    var scores: [String: Int?]
  }

  @Test("a key with nil was lost from a flattened dictionary")
  func nilInDictionary() throws {
    #expect(code(Scores(scores: ["a": 1, "b": nil]), flat) == .unsupportedValue)
    #expect(try read(Scores(scores: ["a": 1, "b": 2]), flat) == Scores(scores: ["a": 1, "b": 2]))
    #expect(try read(Scores(scores: ["a": 1, "b": nil])) == Scores(scores: ["a": 1, "b": nil]))
  }
}
