import DaybookEngine

/// The payload of an operation that sets metadata: {u16 key length, key, value}.
enum MetadataPayload {
  /// Key and value; nil when the bytes are malformed.
  static func parts(_ payload: ByteView) -> (key: ByteView, value: ByteView)? {
    guard payload.count >= 2, payload.count >= 2 + Int(payload.uint16(at: 0)) else { return nil }
    let end = 2 + Int(payload.uint16(at: 0))
    return (payload.slice(2..<end), payload.dropFirst(end))
  }

  /// The value, if it is that of this key.
  static func value(_ payload: ByteView, ofKey key: String) -> ByteView? {
    guard let parts = parts(payload), UTF8Order.withView(of: key, { UTF8Order.equal($0, parts.key) }) else { return nil }
    return parts.value
  }
}
