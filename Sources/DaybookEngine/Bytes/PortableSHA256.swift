/// SHA-256 in plain Swift, for platforms whose system has none; there, `SHA256` is this type (SHA256.swift).
///
/// As in FIPS 180-4: blocks of 64 bytes change eight words through 64 rounds, and the end of the message is a byte 0x80,
/// zeros, and the length in bits. Written out without a library, because the engine depends on none. The digest can be
/// computed piece by piece:
///
///     var hash = PortableSHA256()
///     while let piece = … { hash.update(piece) }
///     let digest = hash.finish()
///
/// The message schedule is a window of sixteen words that advances every sixteen rounds. All rounds are written out, so neither
/// the window nor the working variables become an array in memory.
///
/// Always true: the result depends on the bytes only, not on how they were cut into pieces. Nothing is allocated before
/// `finish`.
package struct PortableSHA256: Sendable {
  package static let digestByteCount = 32
  private static let blockByteCount = 64

  private var state = State()
  /// The beginning of a block that is not complete yet.
  private var rest = Block()
  private var restByteCount = 0
  private var byteCount: UInt64 = 0

  package init() {}

  /// The digest of bytes that are all in memory.
  package static func digest(of bytes: ByteView) -> [UInt8] {
    var hash = PortableSHA256()
    hash.update(bytes)
    return hash.finish()
  }

  /// Appends bytes to the message.
  package mutating func update(_ bytes: ByteView) {
    byteCount &+= UInt64(bytes.count)
    var position = 0
    if restByteCount > 0 {
      position = min(bytes.count, Self.blockByteCount - restByteCount)
      rest.copy(bytes.prefix(position), to: restByteCount)
      restByteCount += position
      if restByteCount < Self.blockByteCount { return }
      rest.withView { state.add($0) }
      restByteCount = 0
    }
    let wholeByteCount = (bytes.count - position) / Self.blockByteCount * Self.blockByteCount
    state.add(bytes.slice(position..<position + wholeByteCount))
    position += wholeByteCount
    rest.copy(bytes.dropFirst(position), to: 0)
    restByteCount = bytes.count - position
  }

  /// The digest of the message so far. The hash itself does not change, and more bytes may follow.
  package func finish() -> [UInt8] {
    var state = state
    var last = rest
    last.pad(from: restByteCount)
    // The length takes eight bytes behind the mark. Without room for them it goes into a block of its own.
    if restByteCount >= Self.blockByteCount - 8 {
      last.withView { state.add($0) }
      last = Block()
    }
    last.setBitCount(byteCount &* 8)
    last.withView { state.add($0) }
    return state.bytes
  }
}

extension PortableSHA256 {
  /// 64 bytes in place, so that a hash needs no allocation.
  private struct Block {
    private var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)

    mutating func copy(_ bytes: ByteView, to offset: Int) {
      precondition(offset >= 0 && bytes.count <= PortableSHA256.blockByteCount - offset, "a rest is shorter than a block")
      unsafe withUnsafeMutableBytes(of: &words) { target in
        // Safe: the line above.
        unsafe (target.baseAddress.unsafelyUnwrapped + offset).copyMemory(from: bytes.base, byteCount: bytes.count)
      }
    }

    /// The mark behind the message, and zeros.
    mutating func pad(from offset: Int) {
      precondition(offset >= 0 && offset < PortableSHA256.blockByteCount, "a rest is shorter than a block")
      unsafe withUnsafeMutableBytes(of: &words) { target in
        // Safe: every index lies below 64, the size of the tuple.
        unsafe target[offset] = 0x80
        for index in offset + 1..<PortableSHA256.blockByteCount { unsafe target[index] = 0 }
      }
    }

    mutating func setBitCount(_ count: UInt64) { words.7 = count.bigEndian }

    func withView(_ body: (ByteView) -> Void) {
      // Safe: the view is used only while the closure runs.
      unsafe withUnsafeBytes(of: words) { unsafe body(ByteView($0)) }
    }
  }
}

extension PortableSHA256 {
  /// The eight words of the digest.
  private struct State {
    private var h0: UInt32 = 0x6a09_e667
    private var h1: UInt32 = 0xbb67_ae85
    private var h2: UInt32 = 0x3c6e_f372
    private var h3: UInt32 = 0xa54f_f53a
    private var h4: UInt32 = 0x510e_527f
    private var h5: UInt32 = 0x9b05_688c
    private var h6: UInt32 = 0x1f83_d9ab
    private var h7: UInt32 = 0x5be0_cd19

    var bytes: [UInt8] {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(PortableSHA256.digestByteCount)
      for word in [h0, h1, h2, h3, h4, h5, h6, h7] {
        for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: word &>> shift)) }
      }
      return bytes
    }

    /// Adds whole blocks.
    mutating func add(_ blocks: ByteView) {
      precondition(blocks.count % PortableSHA256.blockByteCount == 0, "only whole blocks are added")
      var offset = 0
      while offset < blocks.count {
        // Safe: a whole block lies at `offset`, by the two lines above.
        unsafe addBlock(blocks.base + offset)
        offset &+= PortableSHA256.blockByteCount
      }
    }

    @inline(__always)
    private mutating func addBlock(_ block: UnsafeRawPointer) {
      @inline(__always) func word(_ index: Int) -> UInt32 {
        // Safe: the caller owns 64 bytes at `block`, and `index` is below 16.
        unsafe UInt32(bigEndian: block.loadUnaligned(fromByteOffset: index &* 4, as: UInt32.self))
      }
      var rounds = Rounds(
        a: h0, b: h1, c: h2, d: h3, e: h4, f: h5, g: h6, h: h7,
        w0: word(0), w1: word(1), w2: word(2), w3: word(3), w4: word(4), w5: word(5), w6: word(6), w7: word(7),
        w8: word(8), w9: word(9), w10: word(10), w11: word(11), w12: word(12), w13: word(13), w14: word(14),
        w15: word(15))
      rounds.run(
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174)
      rounds.extendSchedule()
      rounds.run(
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967)
      rounds.extendSchedule()
      rounds.run(
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070)
      rounds.extendSchedule()
      rounds.run(
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2)
      h0 = h0 &+ rounds.a
      h1 = h1 &+ rounds.b
      h2 = h2 &+ rounds.c
      h3 = h3 &+ rounds.d
      h4 = h4 &+ rounds.e
      h5 = h5 &+ rounds.f
      h6 = h6 &+ rounds.g
      h7 = h7 &+ rounds.h
    }
  }

  /// One block on its way through the 64 rounds: the eight working variables and sixteen words of the schedule.
  private struct Rounds {
    var a, b, c, d, e, f, g, h: UInt32
    var w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15: UInt32

    /// Sixteen rounds. Instead of moving the variables on, each round names them one place further.
    @inline(__always)
    mutating func run(
      _ k0: UInt32, _ k1: UInt32, _ k2: UInt32, _ k3: UInt32, _ k4: UInt32, _ k5: UInt32, _ k6: UInt32, _ k7: UInt32,
      _ k8: UInt32, _ k9: UInt32, _ k10: UInt32, _ k11: UInt32, _ k12: UInt32, _ k13: UInt32, _ k14: UInt32,
      _ k15: UInt32
    ) {
      Self.round(a, b, c, &d, e, f, g, &h, k0 &+ w0)
      Self.round(h, a, b, &c, d, e, f, &g, k1 &+ w1)
      Self.round(g, h, a, &b, c, d, e, &f, k2 &+ w2)
      Self.round(f, g, h, &a, b, c, d, &e, k3 &+ w3)
      Self.round(e, f, g, &h, a, b, c, &d, k4 &+ w4)
      Self.round(d, e, f, &g, h, a, b, &c, k5 &+ w5)
      Self.round(c, d, e, &f, g, h, a, &b, k6 &+ w6)
      Self.round(b, c, d, &e, f, g, h, &a, k7 &+ w7)
      Self.round(a, b, c, &d, e, f, g, &h, k8 &+ w8)
      Self.round(h, a, b, &c, d, e, f, &g, k9 &+ w9)
      Self.round(g, h, a, &b, c, d, e, &f, k10 &+ w10)
      Self.round(f, g, h, &a, b, c, d, &e, k11 &+ w11)
      Self.round(e, f, g, &h, a, b, c, &d, k12 &+ w12)
      Self.round(d, e, f, &g, h, a, b, &c, k13 &+ w13)
      Self.round(c, d, e, &f, g, h, a, &b, k14 &+ w14)
      Self.round(b, c, d, &e, f, g, h, &a, k15 &+ w15)
    }

    @inline(__always)
    private static func round(
      _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: inout UInt32, _ e: UInt32, _ f: UInt32, _ g: UInt32,
      _ h: inout UInt32, _ keyed: UInt32
    ) {
      let sum1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
      let choice = g ^ (e & (f ^ g))
      let first = h &+ sum1 &+ choice &+ keyed
      let sum0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
      let majority = (a & b) ^ (c & (a ^ b))
      d = d &+ first
      h = first &+ sum0 &+ majority
    }

    /// The next sixteen words, each in the place of the one sixteen before it.
    @inline(__always)
    mutating func extendSchedule() {
      Self.extend(&w0, w1, w9, w14)
      Self.extend(&w1, w2, w10, w15)
      Self.extend(&w2, w3, w11, w0)
      Self.extend(&w3, w4, w12, w1)
      Self.extend(&w4, w5, w13, w2)
      Self.extend(&w5, w6, w14, w3)
      Self.extend(&w6, w7, w15, w4)
      Self.extend(&w7, w8, w0, w5)
      Self.extend(&w8, w9, w1, w6)
      Self.extend(&w9, w10, w2, w7)
      Self.extend(&w10, w11, w3, w8)
      Self.extend(&w11, w12, w4, w9)
      Self.extend(&w12, w13, w5, w10)
      Self.extend(&w13, w14, w6, w11)
      Self.extend(&w14, w15, w7, w12)
      Self.extend(&w15, w0, w8, w13)
    }

    @inline(__always)
    private static func extend(_ word: inout UInt32, _ next: UInt32, _ seventh: UInt32, _ secondLast: UInt32) {
      let small0 = rotated(next, 7) ^ rotated(next, 18) ^ next &>> 3
      let small1 = rotated(secondLast, 17) ^ rotated(secondLast, 19) ^ secondLast &>> 10
      word = word &+ small0 &+ seventh &+ small1
    }

    @inline(__always)
    private static func rotated(_ value: UInt32, _ bitCount: UInt32) -> UInt32 {
      value &>> bitCount | value &<< (32 &- bitCount)
    }
  }
}
