import Daybook
import DaybookCoding
import Foundation
import Testing

// Nil of a flattened property, beside a field of a newer version that begins as the property does: it is read as nil in whatever way the
// type asks, and takes nothing with it that is not its own.

private let flat = {
  var options = RecordCodingOptions()
  options.nested = .flattened
  return options
}()

/// Encodes what it has in its own place, nil included.
@propertyWrapper private struct Kept<Value: Codable & Equatable>: Codable, Equatable {
  var wrappedValue: Value
  init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  init(from decoder: any Decoder) throws { wrappedValue = try decoder.singleValueContainer().decode(Value.self) }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

/// The same, where nil is told from the rest by hand.
@propertyWrapper private struct Maybe<Value: Codable & Equatable>: Codable, Equatable {
  var wrappedValue: Value?
  init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }
  init(from decoder: any Decoder) throws { wrappedValue = try decoder.singleValueContainer().decode(Value?.self) }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
  }
}

@Suite("nil of flattened properties")
struct WrappedNilTests {
  private struct Home: Codable, Equatable {
    var street: String? = "s"
    var zip: Int?
  }

  private struct Asking: RecordCodable, Equatable {
    var recordName = "a"
    var age: Int?
    var home: Home?
    var need: Need?
    struct Need: Codable, Equatable { var what = "w" }
    enum CodingKeys: CodingKey { case recordName, age, home, need }

    init() {}
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      recordName = try container.decode(String.self, forKey: .recordName)
      age = try container.decode(Int?.self, forKey: .age)
      home = try container.decode(Home?.self, forKey: .home)
      need = try container.decode(Need?.self, forKey: .need)
    }
  }

  @Test("decode(T?.self) beside a newer version's field gave an empty value or an error, and decodeIfPresent nil")
  func decodeOptional() throws {
    var record = try RecordEncoder(options: flat).encode(Asking())
    record["age_group"] = "of a newer version"
    record["home_color"] = "red"
    record["need_color"] = "red"
    #expect(try RecordDecoder(options: flat).decode(Asking.self, from: record) == Asking())
    record["home_zip"] = 1
    record["age"] = 2
    record["need_what"] = "x"
    let read = try RecordDecoder(options: flat).decode(Asking.self, from: record)
    #expect(read.home == Home(street: nil, zip: 1) && read.age == 2 && read.need == .init(what: "x"))
    // A value without a single field is there by its mark.
    var empty = Asking()
    empty.home = Home(street: nil)
    let marked = try RecordEncoder(options: flat).encode(empty)
    #expect(try RecordDecoder(options: flat).decode(Asking.self, from: marked) == empty)
  }

  private struct Wrapped: RecordCodable, Equatable {
    var recordName = "w"
    @Kept var age: Int? = 1
    @Kept var home: Home? = Home()
    @Maybe var year: Int? = 2
    @Maybe var work: Home? = Home()
    @Kept var all: Kept<Home?> = Kept(wrappedValue: Home())
  }

  @Test("nil in a property wrapper took a newer version's fields that begin as it does", arguments: [false, true])
  func wrapper(isUpdate: Bool) throws {
    let database = try Database.inMemory()
    try database.save(Wrapped(), options: flat)
    let others = ["age_group", "all_color", "home_color", "work_color", "year_end"]
    try database.update(Record.ID("w")) { record in
      for other in others { record[other] = "of a newer version" }
    }
    let left = Wrapped(age: nil, home: nil, year: nil, work: nil, all: Kept(wrappedValue: nil))
    if isUpdate {
      try database.update(Wrapped.self, "w", options: flat) { $0 = left }
    } else {
      try database.save(left, options: flat)
    }
    #expect(try database.record(Record.ID("w"))?.keys == others)
    #expect(try database.fetch(Wrapped.self, "w", options: flat) == left)
  }

  private struct Circle: Codable, Equatable { var radius = 1 }
  private struct Square: Codable, Equatable { var side = 2 }

  /// Tries one form after the other.
  private enum Shape: Codable, Equatable {
    case circle(Circle), square(Square)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let circle = try? container.decode(Circle.self) {
        self = .circle(circle)
      } else {
        self = .square(try container.decode(Square.self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .circle(let circle): try container.encode(circle)
      case .square(let square): try container.encode(square)
      }
    }
  }

  private struct Drawing: RecordCodable, Equatable {
    var recordName = "d"
    var shape: Shape?
  }

  @Test("a value of one form or another that became nil came back, where it was of the second form")
  func eitherForm() throws {
    for shape in [Shape.circle(Circle()), .square(Square())] {
      let database = try Database.inMemory()
      try database.save(Drawing(shape: shape), options: flat)
      try database.update(Drawing.self, "d", options: flat) { $0.shape = nil }
      #expect(try database.fetch(Drawing.self, "d", options: flat)?.shape == nil)
      #expect(try database.record(Record.ID("d"))?.keys == [])
    }
  }

  /// Two forms with keys and one without.
  private enum Amount: Codable, Equatable {
    case circle(Circle), square(Square), count(Int)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let circle = try? container.decode(Circle.self) {
        self = .circle(circle)
      } else if let square = try? container.decode(Square.self) {
        self = .square(square)
      } else {
        self = .count(try container.decode(Int.self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .circle(let circle): try container.encode(circle)
      case .square(let square): try container.encode(square)
      case .count(let count): try container.encode(count)
      }
    }
  }

  private struct Order: RecordCodable, Equatable {
    var recordName = "o"
    var amount: Amount
  }

  @Test("a value that became a number was read in its form before")
  func numberForm() throws {
    for amount in [Amount.circle(Circle()), .square(Square())] {
      let database = try Database.inMemory()
      try database.save(Order(amount: amount), options: flat)
      try database.update(Order.self, "o", options: flat) { $0.amount = .count(5) }
      #expect(try database.fetch(Order.self, "o", options: flat)?.amount == .count(5))
    }
  }

  @Test("a value of one form that took another one was read in the form before, and a newer version's fields stay")
  func otherForm() throws {
    let forms = [Amount.circle(Circle()), .square(Square())]
    for (before, after) in zip(forms, forms.reversed()) {
      let database = try Database.inMemory()
      try database.save(Order(amount: before), options: flat)
      try database.update(Record.ID("o")) { $0["amount_color"] = "of a newer version" }
      try database.update(Order.self, "o", options: flat) { $0.amount = after }
      #expect(try database.fetch(Order.self, "o", options: flat)?.amount == after)
      #expect(try database.record(Record.ID("o"))?["amount_color"] == "of a newer version")
    }
  }

  /// An enum with payload, or an object.
  private enum Thing: Codable, Equatable {
    case switched(Switch), box(Int)

    enum Switch: Codable, Equatable { case on(Int), off }
    class Box: Codable {
      var size: Int
      init(_ size: Int) { self.size = size }
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let value = try? container.decode(Switch.self) {
        self = .switched(value)
      } else {
        self = .box(try container.decode(Box.self).size)
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .switched(let value): try container.encode(value)
      case .box(let size): try container.encode(Box(size))
      }
    }
  }

  private struct Parcel: RecordCodable {
    var recordName = "t"
    var thing: Thing
  }

  @Test("an enum that became an object was read as the enum")
  func objectForm() throws {
    let things = [Thing.switched(.off), .box(3), .switched(.on(2)), .box(4), .switched(.off)]
    let database = try Database.inMemory()
    for thing in things {
      try database.save(Parcel(thing: thing), options: flat)
      #expect(try database.fetch(Parcel.self, "t", options: flat)?.thing == thing)
    }
    // What a newer version has there stays.
    try database.update(Record.ID("t")) { $0["thing_color"] = "of a newer version" }
    for thing in things {
      try database.update(Parcel.self, "t", options: flat) { $0.thing = thing }
      #expect(try database.record(Record.ID("t"))?["thing_color"] == "of a newer version")
    }
  }

  private class Base: Codable {
    var a = 1
    var note: String? = "base"
    init() {}
  }

  private final class Sub: Base {
    enum Keys: String, CodingKey { case c }
    var c = 5
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      c = try decoder.container(keyedBy: Keys.self).decode(Int.self, forKey: .c)
      try super.init(from: decoder)
    }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(c, forKey: .c)
    }
  }

  private final class Other: Codable { var b = 2 }

  /// Its superclass has a key of its own.
  private final class Apart: Base {
    enum Keys: String, CodingKey { case c }
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      _ = try container.decode(Int.self, forKey: .c)
      try super.init(from: container.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(5, forKey: .c)
      try super.encode(to: container.superEncoder())
    }
  }

  private enum Form: Codable { case disc(radius: Int) }

  /// The first of two that can be read.
  private struct Either<First: Codable, Second: Codable>: RecordCodable {
    struct Value: Codable {
      var first: First?
      var second: Second?
      init(_ first: First?, _ second: Second?) { (self.first, self.second) = (first, second) }
      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        first = try? container.decode(First.self)
        if first == nil { second = try container.decode(Second.self) }
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let first { try container.encode(first) } else if let second { try container.encode(second) }
      }
    }
    static var recordType: String { "Either" }
    static var fieldRules: [String: FieldRule] { ["thing": .flattened] }
    var recordName = "e"
    var thing: Value
  }

  /// Only its subclasses are decoded.
  private class Abstract: Codable {
    init() {}
    required init(from decoder: any Decoder) throws { fatalError("an abstract class was decoded") }
    func encode(to encoder: any Encoder) throws {}
  }

  private final class Concrete: Abstract {
    enum CodingKeys: CodingKey { case radius }
    var radius = 1.0
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      radius = try decoder.container(keyedBy: CodingKeys.self).decode(Double.self, forKey: .radius)
      super.init()
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(radius, forKey: .radius)
    }
  }

  /// Tells keys only to a decoder that it knows.
  private final class Managed: Codable {
    static let key = CodingUserInfoKey(rawValue: "store")!
    var m = 3
    init() {}
    init(from decoder: any Decoder) throws {
      guard decoder.userInfo[Managed.key] == nil, !decoder.codingPath.isEmpty else {
        throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no store"))
      }
      m = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .m)
    }
  }

  /// As property wrappers and boxes do: decodes its content in its own place.
  private struct Boxed<Value: Codable>: RecordCodable {
    struct Box: Codable {
      var value: Value
      init(_ value: Value) { self.value = value }
      init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Value.self) }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
      }
    }
    static var recordType: String { "Boxed" }
    static var fieldRules: [String: FieldRule] { ["box": .flattened] }
    var recordName = "b"
    var box: Box
  }

  @Test("a superclass is not decoded to learn its keys, and an object alone keeps what a newer version has beside it")
  func abstractSuperclass() throws {
    let database = try Database.inMemory()
    try database.save(Boxed(box: .init(Concrete())))
    #expect(try database.fetch(Boxed<Concrete>.self, "b")?.box.value.radius == 1)
    try database.update(Record.ID("b")) { $0["box_color"] = "of a newer version" }
    try database.update(Boxed<Concrete>.self, "b") { $0.box.value.radius = 2 }
    #expect(try database.record(Record.ID("b"))?["box_color"] == "of a newer version")
  }

  @Test("an object was read where another value had taken its place")
  func objectFirst() throws {
    func check<First: Codable, Second: Codable>(_ first: First, _ second: Second, areKeysKnown: Bool = true) throws {
      let database = try Database.inMemory()
      for isFirst in [true, false, true, false] {
        try database.save(Either(thing: isFirst ? .init(first, nil) : .init(nil, second) as Either<First, Second>.Value))
        let found = try database.fetch(Either<First, Second>.self, "e")?.thing
        #expect((found?.first != nil) == isFirst, "\(First.self) or \(Second.self)")
        try database.update(Either<First, Second>.self, "e") { $0.thing = isFirst ? .init(nil, second) : .init(first, nil) }
        let changed = try database.fetch(Either<First, Second>.self, "e")?.thing
        #expect((changed?.first != nil) == !isFirst, "\(First.self) or \(Second.self), changed")
      }
      // What a newer version has there stays where it can be told.
      if !areKeysKnown { return }
      try database.update(Record.ID("e")) { $0["thing_color"] = "of a newer version" }
      try database.update(Either<First, Second>.self, "e") { $0.thing = .init(first, nil) }
      #expect(try database.record(Record.ID("e"))?["thing_color"] == "of a newer version")
    }
    try check(Base(), Form.disc(radius: 7))
    try check(Form.disc(radius: 7), Base())
    try check(Base(), Other())
    try check(Sub(), Base(), areKeysKnown: false)
    try check(Sub(), Form.disc(radius: 7), areKeysKnown: false)
    try check(Apart(), Form.disc(radius: 7), areKeysKnown: false)
    try check(Apart(), Base(), areKeysKnown: false)
    try check(Concrete(), Form.disc(radius: 7), areKeysKnown: false)
    try check(Managed(), Base(), areKeysKnown: false)
    try check(Base(), Managed(), areKeysKnown: false)
  }

  private struct Room: Codable, Equatable {
    var floor = 1
  }

  private class Desk: Codable {
    var width = 2
  }

  private struct Plan: RecordCodable {
    var recordName = "p"
    var room: Room?? = Room()
    var desk: Desk?? = Desk()
    var note: String?? = "n"
    var tags: [String]?? = ["t"]
    var id: UUID?? = UUID()

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(recordName, forKey: .recordName)
      try container.encodeIfPresent(room, forKey: .room)
      try container.encodeIfPresent(desk, forKey: .desk)
      try container.encodeIfPresent(note, forKey: .note)
      try container.encodeIfPresent(tags, forKey: .tags)
      try container.encodeIfPresent(id, forKey: .id)
    }
  }

  @Test("a value with keys in an optional of an optional came back after it became nil", arguments: [false, true])
  func optionalOfOptional(isUpdate: Bool) throws {
    let database = try Database.inMemory()
    try database.save(Plan(), options: flat)
    #expect(try database.record(Record.ID("p"))?.keys == ["desk_width", "id", "note", "room_floor", "tags"])
    try database.update(Record.ID("p")) { record in
      for key in ["note_color", "tags_color", "id_color"] { record[key] = "of a newer version" }
    }
    let empty = Plan(room: nil, desk: nil, note: nil, tags: nil, id: nil)
    if isUpdate {
      try database.update(Plan.self, "p", options: flat) { $0 = empty }
    } else {
      try database.save(empty, options: flat)
    }
    #expect(try database.record(Record.ID("p"))?.keys == ["id_color", "note_color", "tags_color"])
  }
}
