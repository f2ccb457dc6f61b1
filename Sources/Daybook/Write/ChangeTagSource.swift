/// Change tags that no other writer gives: 64 bits for one version of one record, different from those of other writers of the
/// file and of its copies.
///
///     tag = mixed(base + count × odd number)        count: all tags of this open, also of saves that were rolled back
///     base = mixed(random of this open, number of the commit to be, its date)
///
/// Within a transaction no two tags are equal, because mixing loses nothing. Anywhere else two are equal by a chance of 2⁻⁶⁴,
/// because the random number of each open is its own: processes that share a file, copies of it and restored backups have
/// lineages, sequences and places in the log in common, so none of those would do. Number and date are in the base for opens
/// whose random numbers are equal, as in a virtual machine that was stopped, copied and started twice. A child of a fork may
/// not write.
///
/// A tag is in the body of its version. Replay, compaction and copies take it from there and never draw.
struct ChangeTagSource {
  private let random: @Sendable () -> UInt64
  /// Drawn with the first tag: an open that saves nothing needs none.
  private var seed: UInt64?
  private var count: UInt64 = 0

  init(random: @escaping @Sendable () -> UInt64) { self.random = random }

  /// Where the tags of a transaction begin.
  mutating func base(sequence: UInt64, date: Double) -> UInt64 {
    let seed: UInt64
    if let known = self.seed {
      seed = known
    } else {
      seed = random()
      self.seed = seed
    }
    return Self.mixed(Self.mixed(seed ^ date.bitPattern) &+ sequence)
  }

  mutating func next(_ base: UInt64) -> UInt64 {
    while true {
      count &+= 1
      let tag = Self.mixed(base &+ count &* 0x9E37_79B9_7F4A_7C15)
      // Zero means "never saved", all ones "the tag of another server".
      if tag != 0 && tag != .max { return tag }
    }
  }

  /// Each bit depends on all, and no two numbers come to the same (the finalizer of SplitMix64).
  private static func mixed(_ number: UInt64) -> UInt64 {
    var z = number
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
