#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The closed set of values, their stored form, and their equality. Their bytes are in ValueCoding.swift.

extension Record {
  /// What a field can hold: one of eight kinds, or a list of one kind. The set is closed.
  ///
  /// There is no null (an absent key is absent), no nested list, and a Boolean is the number 0 or 1. A list may be
  /// empty and still has its kind.
  ///
  /// Equality is that of indexes and predicates: text by UTF-8 bytes; integers and doubles by their exact numeric
  /// value, so `.int(1) == .double(1)`. NaN, which a record refuses, also in dates and places, equals itself.
  public enum Value: Sendable {
    /// Text.
    case string(String)
    /// A whole number; a Boolean is 0 or 1.
    case int(Int64)
    /// A number; infinities are allowed, NaN is refused when set, −0 is stored as 0.
    case double(Double)
    /// Bytes.
    case bytes(Data)
    /// A moment, kept as its exact 64-bit number.
    case date(Date)
    /// A place.
    indirect case location(Location)
    /// Content that does not count towards the size of the record.
    case asset(Asset)
    /// A pointer to another record.
    indirect case reference(Reference)
    /// A list of texts.
    case strings([String])
    /// A list of whole numbers.
    case ints([Int64])
    /// A list of numbers.
    case doubles([Double])
    /// A list of byte strings.
    case bytesList([Data])
    /// A list of moments.
    case dates([Date])
    /// A list of places.
    case locations([Location])
    /// A list of assets.
    case assets([Asset])
    /// A list of references; the same one may be there twice.
    case references([Reference])
  }
}

extension Record.Value {
  /// The kind of the value.
  package var kind: FieldKind {
    switch self {
    case .string: .string
    case .int: .int
    case .double: .double
    case .bytes: .bytes
    case .date: .date
    case .location: .location
    case .asset: .asset
    case .reference: .reference
    case .strings: .strings
    case .ints: .ints
    case .doubles: .doubles
    case .bytesList: .bytesList
    case .dates: .dates
    case .locations: .locations
    case .assets: .assets
    case .references: .references
    }
  }

  /// The value as it is stored: −0 becomes 0. NaN, anywhere in it, has no stored form.
  package func storable() throws(DatabaseError) -> Record.Value {
    switch self {
    case .double(let number): return .double(try Self.storable(number))
    case .date(let date):
      return .date(
        Date(timeIntervalSinceReferenceDate: try Self.storable(date.timeIntervalSinceReferenceDate)))
    case .location(let place): return .location(try Self.storable(place))
    case .doubles(let numbers):
      var result = numbers
      for index in result.indices { result[index] = try Self.storable(result[index]) }
      return .doubles(result)
    case .dates(let dates):
      var result = dates
      for index in result.indices {
        result[index] = Date(
          timeIntervalSinceReferenceDate: try Self.storable(result[index].timeIntervalSinceReferenceDate))
      }
      return .dates(result)
    case .locations(let places):
      var result = places
      for index in result.indices { result[index] = try Self.storable(result[index]) }
      return .locations(result)
    case .string, .int, .bytes, .asset, .reference, .strings, .ints, .bytesList, .assets, .references:
      return self
    }
  }

  private static func storable(_ number: Double) throws(DatabaseError) -> Double {
    if number.isNaN {
      throw DatabaseError(.invalidArguments, "A value that is not a number (NaN) cannot be stored.")
    }
    return number == 0 ? 0 : number
  }

  private static func storable(_ place: Location) throws(DatabaseError) -> Location {
    var result = place
    result.latitude = try storable(place.latitude)
    result.longitude = try storable(place.longitude)
    if let part = place.altitude { result.altitude = try storable(part) }
    if let part = place.horizontalAccuracy { result.horizontalAccuracy = try storable(part) }
    if let part = place.verticalAccuracy { result.verticalAccuracy = try storable(part) }
    if let part = place.course { result.course = try storable(part) }
    if let part = place.speed { result.speed = try storable(part) }
    if let date = place.timestamp {
      result.timestamp = Date(
        timeIntervalSinceReferenceDate: try storable(date.timeIntervalSinceReferenceDate))
    }
    return result
  }
}

extension Record.Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral
{
  /// `.string`.
  public init(stringLiteral value: String) { self = .string(value) }
  /// `.int`.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// `.double`.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// `.int` 0 or 1.
  public init(booleanLiteral value: Bool) { self = .int(value ? 1 : 0) }
}

extension Record.Value: Hashable {
  /// Equality of indexes and predicates: text by bytes, numbers by exact numeric value.
  public static func == (first: Record.Value, second: Record.Value) -> Bool {
    switch (first, second) {
    case (.string(let a), .string(let b)): UTF8Order.equal(a, b)
    case (.int(let a), .int(let b)): a == b
    case (.double(let a), .double(let b)): ExactNumber.same(a, b)
    case (.int(let a), .double(let b)): same(a, b)
    case (.double(let a), .int(let b)): same(b, a)
    case (.bytes(let a), .bytes(let b)): a == b
    case (.date(let a), .date(let b)): ExactNumber.same(a, b)
    case (.location(let a), .location(let b)): a == b
    case (.asset(let a), .asset(let b)): a == b
    case (.reference(let a), .reference(let b)): a == b
    case (.strings(let a), .strings(let b)): a.elementsEqual(b) { UTF8Order.equal($0, $1) }
    case (.ints(let a), .ints(let b)): a == b
    case (.doubles(let a), .doubles(let b)): a.elementsEqual(b) { ExactNumber.same($0, $1) }
    case (.ints(let a), .doubles(let b)): a.elementsEqual(b) { same($0, $1) }
    case (.doubles(let a), .ints(let b)): b.elementsEqual(a) { same($0, $1) }
    case (.bytesList(let a), .bytesList(let b)): a == b
    case (.dates(let a), .dates(let b)): a.elementsEqual(b) { ExactNumber.same($0, $1) }
    case (.locations(let a), .locations(let b)): a == b
    case (.assets(let a), .assets(let b)): a == b
    case (.references(let a), .references(let b)): a == b
    default: false
    }
  }

  /// Hashes so that equal numbers of different kinds hash alike.
  public func hash(into hasher: inout Hasher) {
    // Whole numbers and doubles share a mark, because they may be equal.
    let mark = kind.rawValue
    hasher.combine(mark == FieldKind.double.rawValue ? FieldKind.int.rawValue : mark & 0x0F == 3 ? 0x12 : mark)
    switch self {
    case .string(let text): UTF8Order.combine(text, into: &hasher)
    case .int(let number): hasher.combine(number)
    case .double(let number): Self.combine(number, into: &hasher)
    case .bytes(let bytes): hasher.combine(bytes)
    case .date(let date): ExactNumber.combine(date, into: &hasher)
    case .location(let place): hasher.combine(place)
    case .asset(let asset): hasher.combine(asset)
    case .reference(let reference): hasher.combine(reference)
    case .strings(let texts): for text in texts { UTF8Order.combine(text, into: &hasher) }
    case .ints(let numbers): for number in numbers { hasher.combine(number) }
    case .doubles(let numbers): for number in numbers { Self.combine(number, into: &hasher) }
    case .bytesList(let list): hasher.combine(list)
    case .dates(let dates): for date in dates { ExactNumber.combine(date, into: &hasher) }
    case .locations(let places): hasher.combine(places)
    case .assets(let assets): hasher.combine(assets)
    case .references(let references): hasher.combine(references)
    }
  }

  /// Exact: 2^53 + 1 is not the double 2^53.
  private static func same(_ first: Int64, _ second: Double) -> Bool { Int64(exactly: second) == first }

  private static func combine(_ number: Double, into hasher: inout Hasher) {
    if let whole = Int64(exactly: number) {
      hasher.combine(whole)
    } else {
      ExactNumber.combine(number, into: &hasher)
    }
  }
}
