// A stand-in for CryptoKit: the declarations that Daybook uses. See `Scripts/darwin.sh`. Nothing is ever run with it.

public struct SHA256Digest: Sequence, Sendable {
  public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
}

public struct SHA256: Sendable {
  public init() { fatalError() }
  public mutating func update(bufferPointer: UnsafeRawBufferPointer) { fatalError() }
  public func finalize() -> SHA256Digest { fatalError() }
}
