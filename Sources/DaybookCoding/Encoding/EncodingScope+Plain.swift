#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// The usual kinds of values where no rule and no option changes what becomes of them: straight into the record, which expects the keys
/// of its type in their order (row: coding-encode). Where something is in the way, nothing is done, and the careful way finds out what.
extension EncodingScope {
  @inline(__always)
  func put(_ number: Int64, _ key: some CodingKey, _ above: PathStep?) throws {
    if isPlainlyWritten, above == nil {
      let name = key.stringValue
      if !isOfSystem(name), fields.takes(number, name) { return }
    }
    try put(.int(number), key, above)
  }

  @inline(__always)
  func put(_ number: Double, _ key: some CodingKey, _ above: PathStep?) throws {
    if isPlainlyWritten, above == nil {
      let name = key.stringValue
      if !isOfSystem(name), fields.takes(number, name) { return }
    }
    try put(.double(number), key, above)
  }

  @inline(__always)
  func put(_ text: String, _ key: some CodingKey, _ above: PathStep?) throws {
    if isPlainlyWritten, above == nil {
      let name = key.stringValue
      if isOfSystem(name) {
        // The system fields have twelve bytes; a name may have as many, and is compared the careful way.
        if name.utf8.count != 12, fields.isNamed(text) { return }
      } else if fits(text.utf8.count), fields.takes(text, name) {
        return count(text.utf8.count)
      }
    }
    try put(.string(text), key, above)
  }

  /// Whether a value of one of the usual types that the standard library has no method for was put into its field.
  func isPlainlyPut<T>(_ value: T, _ name: String) -> Bool {
    if isOfSystem(name) { return false }
    if T.self == Date.self {
      if fields.takes(same(value, as: Date.self), name) { return true }
    } else if T.self == Data.self {
      let data = same(value, as: Data.self)
      if fits(data.count), fields.takes(data, name) {
        count(data.count)
        return true
      }
    } else if T.self == [String].self {
      let texts = same(value, as: [String].self)
      let size = Self.variableByteCount(.strings(texts))
      if fits(size), fields.takes(texts, name) {
        count(size)
        return true
      }
    }
    return plainLeaf(value).map { isWritten($0, name) } ?? false
  }

  private func fits(_ size: Int) -> Bool { size <= options.limits.recordByteCount }

  private func count(_ size: Int) { byteCount = byteCount.addingReportingOverflow(size).partialValue }

  /// Whether a key's field was written or removed without ado; when it was refused, the careful way finds out why.
  func isWritten(_ value: Record.Value?, _ name: String) -> Bool {
    if isOfSystem(name) { return false }
    if let value {
      let size = Self.variableByteCount(value)
      if !fits(size) { return false }
      count(size)
    }
    return fields.isWritten(value, name)
  }

  /// The value of one of the usual types that the standard library has no method for.
  func plainLeaf<T>(_ value: T) -> Record.Value? {
    if T.self == Date.self { return .date(same(value, as: Date.self)) }
    if T.self == Data.self { return .bytes(same(value, as: Data.self)) }
    if T.self == String.self { return .string(same(value, as: String.self)) }
    if T.self == UUID.self { return .string(same(value, as: UUID.self).uuidString) }
    if T.self == [String].self { return .strings(same(value, as: [String].self)) }
    if T.self == [Int].self { return .ints(same(value, as: [Int].self).map { Int64($0) }) }
    if T.self == [Int64].self { return .ints(same(value, as: [Int64].self)) }
    return nil
  }
}
