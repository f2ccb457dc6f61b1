/// Keys and values for the other engines: the same formulas as `BenchmarkWorkload` inside Daybook's engine.
///
/// Written a second time, because a loop that calls into another module for each key would measure that call. `check`
/// compares the two before anything is measured.
struct Workload {
  static let valueByteCount = 150
  static let largestKeyByteCount = 24
  /// Keys from here on are in no file.
  static let firstMissingNumber: UInt64 = 1 << 50
  private static let seed: UInt64 = 0x4461_7962_6f6f_6b21

  /// Room for one key and one value.
  let key = UnsafeMutableRawPointer.allocate(byteCount: 24, alignment: 8)
  let value = UnsafeMutableRawPointer.allocate(byteCount: 152, alignment: 8)

  func free() {
    key.deallocate()
    value.deallocate()
  }

  /// SplitMix64's mixing step.
  @inline(__always)
  static func mix(_ word: UInt64) -> UInt64 {
    var mixed = word &* 0x9e37_79b9_7f4a_7c15
    mixed = (mixed ^ mixed &>> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed &>> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed &>> 31
  }

  /// The number of the key that step `step` of a run asks for.
  @inline(__always)
  static func pick(_ step: Int, among keyCount: UInt64, round: UInt64) -> UInt64 {
    mix(seed &+ 0x5bd1 &+ round &<< 40 &+ UInt64(step)).multipliedFullWidth(by: keyCount).high
  }

  /// Writes the key with a number; returns its length.
  @inline(__always)
  func makeKey(_ number: UInt64) -> Int {
    let base = Workload.seed ^ number &* 4
    let last = Workload.mix(base &+ 2)
    key.storeBytes(of: Workload.mix(base).littleEndian, as: UInt64.self)
    key.storeBytes(of: Workload.mix(base &+ 1).littleEndian, toByteOffset: 8, as: UInt64.self)
    key.storeBytes(of: last.littleEndian, toByteOffset: 16, as: UInt64.self)
    return 16 + Int(last % 9)
  }

  /// The same with the number, most significant byte first, in front: such keys ascend.
  @inline(__always)
  func makeAscendingKey(_ number: UInt64) -> Int {
    let byteCount = makeKey(number)
    key.storeBytes(of: number.bigEndian, as: UInt64.self)
    return byteCount
  }

  @inline(__always)
  func makeValue(_ number: UInt64, round: UInt64) {
    let base = (Workload.seed &+ 1) ^ number &* 32 &+ round &<< 48
    for word in 0..<UInt64(Workload.valueByteCount + 7) / 8 {
      value.storeBytes(of: Workload.mix(base &+ word).littleEndian, toByteOffset: Int(word) * 8, as: UInt64.self)
    }
  }

  /// First and last eight bytes of a value.
  @inline(__always)
  static func sum(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> UInt64 {
    guard byteCount >= 8 else { return 0 }
    return UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
      &+ UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: byteCount - 8, as: UInt64.self))
  }
}
