/// The keys and values of the benchmarks: key n has 16 to 24 random bytes, its values have 150.
package struct BenchmarkWorkload: Sendable {
  package static let valueByteCount = 150
  let seed: UInt64

  package init(seed: UInt64 = 0x4461_7962_6f6f_6b21) { self.seed = seed }

  /// SplitMix64's mixing step.
  @inline(__always)
  static func mix(_ word: UInt64) -> UInt64 {
    var mixed = word &* 0x9e37_79b9_7f4a_7c15
    mixed = (mixed ^ mixed &>> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed &>> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed &>> 31
  }

  /// The number of the key for one step of a run.
  @inline(__always)
  package func pick(_ step: Int, among keyCount: UInt64, round: UInt64) -> UInt64 {
    BenchmarkWorkload.mix(seed &+ 0x5bd1 &+ round &<< 40 &+ UInt64(step)).multipliedFullWidth(by: keyCount).high
  }

  @inline(__always)
  package func makeKey(_ number: UInt64, into buffer: ByteBuffer) {
    let base = seed ^ number &* 4
    let last = BenchmarkWorkload.mix(base &+ 2)
    buffer.truncate(to: 0)
    buffer.append(uint64: BenchmarkWorkload.mix(base))
    buffer.append(uint64: BenchmarkWorkload.mix(base &+ 1))
    buffer.append(uint64: last)
    buffer.truncate(to: 16 + Int(last % 9))
  }

  @inline(__always)
  package func makeValue(_ number: UInt64, round: UInt64, into buffer: ByteBuffer) {
    let base = (seed &+ 1) ^ number &* 32 &+ round &<< 48
    buffer.truncate(to: 0)
    // A range of such numbers would cost more than the put that is measured, without optimisation.
    var word: UInt64 = 0
    while word < UInt64(BenchmarkWorkload.valueByteCount + 7) / 8 {
      buffer.append(uint64: BenchmarkWorkload.mix(base &+ word))
      word &+= 1
    }
    buffer.truncate(to: BenchmarkWorkload.valueByteCount)
  }

  /// The sum of the first and last eight bytes of a value, so that a reader touches both ends.
  @inline(__always)
  static func sum(of value: ByteView) -> UInt64 {
    value.count < 8 ? 0 : value.uint64(at: 0) &+ value.uint64(at: value.count - 8)
  }
}
