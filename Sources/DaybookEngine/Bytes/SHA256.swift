/// SHA-256, the digest that names the content of an asset: the system's implementation where it has one, which uses the
/// processor's own instructions, else the portable one. Both give the same digests, so files may move between platforms.

#if canImport(CryptoKit)
  import CryptoKit

  package struct SHA256: Sendable {
    package static let digestByteCount = 32
    private var hash = CryptoKit.SHA256()

    package init() {}

    /// The digest of bytes that are all in memory.
    package static func digest(of bytes: ByteView) -> [UInt8] {
      var hash = SHA256()
      hash.update(bytes)
      return hash.finish()
    }

    /// Appends bytes to the message.
    package mutating func update(_ bytes: ByteView) {
      // Safe: the view is valid for the length of this call.
      unsafe hash.update(bufferPointer: bytes.buffer)
    }

    /// The digest of the message so far. The hash itself does not change, and more bytes may follow.
    package func finish() -> [UInt8] { Array(hash.finalize()) }
  }
#else
  package typealias SHA256 = PortableSHA256
#endif
