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

extension RecordApplier {
  /// Looks what the transaction's trees require, where the settings are not those that were looked at last.
  /// - Throws: `requires` when nothing can be read. A file that must not be changed is read on; when the
  ///   transaction's trees are published, the store refuses to write.
  func alignRequirements(_ changes: StoreTransaction) throws(LogFault) {
    let settings = changes.roots[Roots.settings]
    if settings.reference == alignedSettings { return }
    var features = RequiredFeatures(reading: 0, writing: 0)
    if settings.reference != 0 {
      key.truncate(to: 0)
      key.append(utf8: RequiredFeatures.settingsKey)
      if let value = try changes.value(key.view, in: settings) {
        guard let found = RequiredFeatures(value) else { throw .inconsistent }
        features = found
      }
    }
    let unknown = features.unknown
    guard unknown.reading == 0 else { throw .requires(features: unknown.reading) }
    changes.laterFeatures = unknown.writing
    alignedSettings = settings.reference
  }

  /// Applies the operation: adds to what the file requires.
  func require(_ payload: ByteView, _ changes: StoreTransaction) throws(LogFault) {
    guard var features = RequiredFeatures(payload) else { throw .operation }
    key.truncate(to: 0)
    key.append(utf8: RequiredFeatures.settingsKey)
    if let known = try changes.value(key.view, in: changes.roots[Roots.settings]).flatMap({ RequiredFeatures($0) }) {
      features.reading |= known.reading
      features.writing |= known.writing
    }
    value.truncate(to: 0)
    features.append(to: value)
    try changes.put(key.view, value.view, in: &changes.roots[Roots.settings])
    // At once: what follows in this commit may be of kinds that this version does not know.
    alignedSettings = .max
    try alignRequirements(changes)
  }
}
