#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// The keys of a zone's indexes: values as bytes that sort as the values do.
///
///     u16 number of the index, value, key of the record's name (`NameKey`)
///
///     value of                bytes
///     number                  1, 8 bytes of the greatest double that is not above it; of an integer that is above it 255, u16 what is left
///     date                    2, 8 bytes of the seconds
///     text, bytes             3 or 4, the first 255 bytes, each zero followed by 255; 0
///     place                   5, 8 bytes of the latitude, 8 of the longitude
///     reference               6, the record's name as a text
///     nothing, or an asset    254
///
/// Indexes of places and of words have other entries, and only of records that have some:
///
///     place on the earth      7, 8 bytes of its cell (`LocationCell`), big-endian
///     other place             8
///     word                    9, the first 64 bytes; 0
///     more words than count   10
///
/// Doubles are big-endian; of a negative one all bits are turned, of another one the first. A name's key never begins with 0 or 255: so
/// what ends a value, and the rest of an integer, sort where they have to, and the value says where it ends. Equal numbers have equal
/// bytes, whatever their kind. Texts of 255 bytes and more, places and references may have equal bytes and differ.
enum IndexKey {
  static let numberByteCount = 2
  /// Of a text: so many bytes count.
  static let textByteCount = 255

  /// What a value begins with.
  enum Rank {
    static let number: UInt8 = 1
    static let date: UInt8 = 2
    static let text: UInt8 = 3
    static let bytes: UInt8 = 4
    static let place: UInt8 = 5
    static let reference: UInt8 = 6
    static let cell: UInt8 = 7
    static let otherPlace: UInt8 = 8
    static let word: UInt8 = 9
    static let manyWords: UInt8 = 10
    static let nothing: UInt8 = 254
  }

  /// Sorts after the keys of all names.
  static let afterNames: UInt8 = 255

  /// The number that a key of the tree begins with; nil where there is no more.
  static func number(of key: ByteView) -> UInt16? {
    key.count > numberByteCount ? UInt16(key[0]) << 8 | UInt16(key[1]) : nil
  }

  static func appendNumber(_ number: UInt16, to buffer: ByteBuffer) {
    buffer.append(UInt8(truncatingIfNeeded: number >> 8))
    buffer.append(UInt8(truncatingIfNeeded: number))
  }

  /// Appends a value that is no list. Nil is for none.
  static func append(_ value: ValueView?, to buffer: ByteBuffer) {
    switch value?.kind {
    case .int:
      buffer.append(Rank.number)
      append(integer: value?.int ?? 0, to: buffer)
    case .double:
      buffer.append(Rank.number)
      append(double: value?.double ?? 0, to: buffer)
    case .date:
      buffer.append(Rank.date)
      append(double: value?.double ?? 0, to: buffer)
    case .string, .bytes, .reference:
      guard let value else { return }
      buffer.append(value.kind == .string ? Rank.text : value.kind == .bytes ? Rank.bytes : Rank.reference)
      appendStart(of: value.bytes, to: buffer)
      buffer.append(0)
    case .location:
      guard let place = value?.place else { return buffer.append(Rank.nothing) }
      buffer.append(Rank.place)
      append(double: place.latitude, to: buffer)
      append(double: place.longitude, to: buffer)
    default: buffer.append(Rank.nothing)
    }
  }

  /// The beginning of a text without its end: what all texts that begin so begin with.
  static func appendStart(of text: ByteView, to buffer: ByteBuffer) {
    for index in 0..<min(text.count, textByteCount) {
      buffer.append(text[index])
      if text[index] == 0 { buffer.append(afterNames) }
    }
  }

  /// Appends the cell of a place.
  static func append(placeAt latitude: Double, _ longitude: Double, to buffer: ByteBuffer) {
    guard let cell = LocationCell.cell(latitude: latitude, longitude: longitude) else {
      return buffer.append(Rank.otherPlace)
    }
    append(cell: cell, to: buffer)
  }

  static func append(cell: UInt64, to buffer: ByteBuffer) {
    buffer.append(Rank.cell)
    buffer.append(uint64: cell.byteSwapped)
  }

  private static func append(double: Double, to buffer: ByteBuffer) {
    // −0 is 0.
    let bits = double == 0 ? 0 : double.bitPattern
    let sign: UInt64 = 1 << 63
    buffer.append(uint64: (bits & sign == 0 ? bits | sign : ~bits).byteSwapped)
  }

  private static func append(integer: Int64, to buffer: ByteBuffer) {
    var double = Double(integer)
    if ValueOrder.order(integer, double) < 0 { double = double.nextDown }
    append(double: double, to: buffer)
    let rest = integer &- Int64(double)
    if rest == 0 { return }
    buffer.append(afterNames)
    buffer.append(UInt8(truncatingIfNeeded: rest >> 8))
    buffer.append(UInt8(truncatingIfNeeded: rest))
  }

  // MARK: taking a key apart

  /// Where the value ends and the record's name begins; nil when it is no key.
  static func valueEnd(in key: ByteView) -> Int? {
    let start = numberByteCount + 1
    guard key.count > start else { return nil }
    var end: Int
    switch key[numberByteCount] {
    case Rank.number:
      end = start + 8
      if end < key.count, key[end] == afterNames { end += 3 }
    case Rank.date, Rank.cell: end = start + 8
    case Rank.place: end = start + 16
    case Rank.nothing, Rank.otherPlace, Rank.manyWords: end = start
    case Rank.text, Rank.bytes, Rank.reference, Rank.word:
      end = start
      while end + 1 < key.count, key[end] != 0 || key[end + 1] == afterNames { end += key[end] == 0 ? 2 : 1 }
      end += 1
    default: return nil
    }
    // A walk from one value to the next would not get past a name that sorts after all names: only a forged file has one.
    return end < key.count && key[end] != afterNames ? end : nil
  }

  /// The key by which the record of an entry is found by name; nil when it is no key.
  static func nameKey(in key: ByteView) -> ByteView? { valueEnd(in: key).map { key.dropFirst($0) } }

  /// Whether a value's bytes may be those of others that differ.
  static func isInexact(_ key: ByteView, valueEnd: Int) -> Bool {
    guard key.count > numberByteCount else { return true }
    switch key[numberByteCount] {
    case Rank.number, Rank.date: return false
    case Rank.nothing: return false
    case Rank.text, Rank.bytes: return valueEnd - numberByteCount - 2 >= textByteCount
    default: return true
    }
  }
}

extension IndexKey {
  /// Appends a constant that is no list.
  static func append(_ value: Record.Value, to buffer: ByteBuffer) {
    switch value {
    case .int(let number): append(ValueView(int: number), to: buffer)
    case .double(let number): append(ValueView(.double, double: number), to: buffer)
    case .date(let date): append(ValueView(.date, double: date.timeIntervalSinceReferenceDate), to: buffer)
    case .string(let text): UTF8Order.withView(of: text) { append(ValueView(.string, plain: $0), to: buffer) }
    case .bytes(let data): Array(data).withView { append(ValueView(.bytes, plain: $0), to: buffer) }
    case .reference(let reference):
      UTF8Order.withView(of: reference.id.name) { append(ValueView(referenceTo: $0, zoneKey: $0), to: buffer) }
    case .location(let place):
      buffer.append(Rank.place)
      append(double: place.latitude, to: buffer)
      append(double: place.longitude, to: buffer)
    default: buffer.append(Rank.nothing)
    }
  }
}
