import DaybookEngine

/// What a program must know to read or to change a file: the payload of the operation `requires`, and a setting.
///
///     offset  size  field
///          0     8  features without which nothing can be read
///          8     8  features without which nothing may be written: trees hold what an older program would not keep up to date
///
/// Bits are only ever added. This version uses none: they are room for later ones, which older programs then refuse by name
/// instead of calling the file damaged.
struct RequiredFeatures: Equatable {
  static let byteCount = 16
  /// What this version knows.
  static let known = RequiredFeatures(reading: 0, writing: 0)
  static let settingsKey = "requires"

  var reading: UInt64
  var writing: UInt64

  init(reading: UInt64, writing: UInt64) {
    self.reading = reading
    self.writing = writing
  }

  init?(_ bytes: ByteView) {
    guard bytes.count == RequiredFeatures.byteCount else { return nil }
    self.init(reading: bytes.uint64(at: 0), writing: bytes.uint64(at: 8))
  }

  /// Those that this version does not know.
  var unknown: RequiredFeatures {
    RequiredFeatures(
      reading: reading & ~RequiredFeatures.known.reading, writing: writing & ~RequiredFeatures.known.writing)
  }

  func append(to bytes: ByteBuffer) {
    bytes.append(uint64: reading)
    bytes.append(uint64: writing)
  }
}
