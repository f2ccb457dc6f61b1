import DaybookEngine

extension String {
  /// The UTF-8 of the string as a view that is valid inside `body`; nothing is copied from native strings.
  @inline(__always)
  func withKeyView<R, E: Error>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    try UTF8Order.withView(of: self) { view in Result { () throws(E) in try body(view) } }.get()
  }
}

extension Zone.ID {
  var isDefault: Bool { self == .default }

  /// The zone's key in the catalog, made on the stack.
  @inline(__always)
  func withKeyView<R, E: Error>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    if name.utf8.count == Zone.ID.defaultName.utf8.count, isDefault { return try body(Zone.ID.defaultKey) }
    let key = ZoneKeyBuffer(self)
    return try key.withView(body)
  }
}

/// Name, zero, owner: 64 bytes inline, longer keys in an array.
private struct ZoneKeyBuffer {
  // Eight words: an array of fixed size needs a newer system than the package does.
  private var inline: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
  private var long: [UInt8]?
  private var count = 0

  @inline(__always)
  init(_ id: Zone.ID) {
    guard id.owner == Zone.ID.defaultOwner, id.name.utf8.count < 64 else {
      long = id.key
      return
    }
    // Safe: the bytes are those of the tuple, and the name with its zero is not longer.
    count = unsafe withUnsafeMutableBytes(of: &inline) { bytes in
      var count = 0
      for byte in id.name.utf8 {
        unsafe bytes[count] = byte
        count &+= 1
      }
      return count &+ 1
    }
  }

  @inline(__always)
  func withView<R, E: Error>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    if let long { return try long.withView(body) }
    // Safe: the view is used only while the closure runs.
    return try unsafe withUnsafeBytes(of: inline) { (bytes) throws(E) in
      try body(unsafe ByteView(bytes).prefix(count))
    }
  }
}
