#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// Plain fields of one kind, read without a `Record.Value` in between: for code that knows which kind it expects, as the
/// decoder of a type does (row: coding-decode).
///
/// Each is nil for a field of another kind, an encrypted one, a malformed one and none at all: who needs to know which asks
/// `value(forKey:)`.
extension RecordBody {
  /// Calls `read` with the bytes of a field, if its mark is that of a plain field of the kind.
  @inline(__always)
  private func plain<R>(_ key: String, _ kind: FieldKind, _ read: (ByteView) -> R?) -> R? {
    defer { withExtendedLifetime(self) {} }
    let layout = layout
    let view = bytes
    guard let (row, heapStart) = UTF8Order.withView(of: key, { Self.row(of: $0, in: view, layout) }),
      view[row] == kind.rawValue
    else { return nil }
    let start = layout.valuesStart
    return read(view.slice(start &+ heapStart..<start &+ Int(view.uint32(at: row &+ 2))))
  }

  /// Whether there is no field of the name, be it plain or encrypted.
  package func lacks(_ key: String) -> Bool {
    defer { withExtendedLifetime(self) {} }
    let view = bytes
    return UTF8Order.withView(of: key) { Self.row(of: $0, in: view, layout) == nil }
  }

  package func plainInt(_ key: String) -> Int64? { plain(key, .int) { ValueCoding.int($0) } }

  package func plainDouble(_ key: String) -> Double? { plain(key, .double) { ValueCoding.double($0) } }

  package func plainDate(_ key: String) -> Date? {
    plain(key, .date) { ValueCoding.double($0) }.map { Date(timeIntervalSinceReferenceDate: $0) }
  }

  package func plainString(_ key: String) -> String? {
    let isChecked = isChecked
    return plain(key, .string) { UTF8Order.string($0, isValid: isChecked) }
  }

  package func plainData(_ key: String) -> Data? { plain(key, .bytes) { ValueCoding.data($0) } }

  package func plainStrings(_ key: String) -> [String]? {
    let isChecked = isChecked
    return plain(key, .strings) { ValueCoding.strings($0, isValid: isChecked) }
  }

  package func plainInts(_ key: String) -> [Int64]? { plain(key, .ints) { ValueCoding.ints($0) } }

  package func plainDoubles(_ key: String) -> [Double]? { plain(key, .doubles) { ValueCoding.doubles($0) } }

  /// Whether the record is of a type.
  package func isOf(type: String) -> Bool {
    withBytes { bytes in UTF8Order.withView(of: type) { UTF8Order.equal($0, Self.typeBytes(of: bytes)) } }
  }

  /// Whether the record has a name.
  package func isNamed(_ name: String) -> Bool {
    withName { bytes in UTF8Order.withView(of: name) { UTF8Order.equal($0, bytes) } }
  }
}

extension Record {
  /// The stored fields, if nothing was set or removed since they were read.
  package var uneditedBody: RecordBody? { draft == nil ? body : nil }
}
