import DaybookEngine

/// The 32-bit FNV-1a sum: enough to notice a token or an archive that was cut or mistyped; never used on the log.
enum ShortChecksum {
  static func of(_ view: ByteView) -> UInt32 {
    var sum: UInt32 = 0x811C_9DC5
    for index in 0..<view.count {
      sum = (sum ^ UInt32(view[index])) &* 0x0100_0193
    }
    return sum
  }
}
