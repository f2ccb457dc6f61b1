/// XXH3 on single words, for builds without optimisation. The sums are those of `XXH3`, which has the algorithm's history.
///
/// There, eight lanes are one vector and the secret is constants in the instructions, which an optimiser makes the fastest
/// code; without it, a vector's operation takes its lanes apart one by one, and each constant is a call: seven times the
/// instructions of this, for 150 bytes. Here the secret is a table, every function that is called often is part of its caller
/// (`@_transparent`, also without optimisation), and few values have names, because each costs a debug build a call.
///
/// Always true: both give the same sum for the same bytes and seed (`ChecksumTests`).
enum PlainXXH3 {
  /// The checksum of the bytes under a seed.
  static func hash(_ bytes: ByteView, seed: UInt64) -> UInt64 {
    // Safe: as in `XXH3.hash`; the table has 192 bytes.
    let input = unsafe bytes.base
    let count = bytes.count
    let secret = unsafe table
    if count > 240 { return unsafe hashLong(input, count, seed, secret) }
    if count > 128 { return unsafe hash129to240(input, count, seed, secret) }
    if count > 16 { return unsafe hash17to128(input, count, seed, secret) }
    return XXH3.vectorHash(bytes, seed: seed)
  }

  /// The 192 secret bytes, in memory that is never released.
  private nonisolated(unsafe) static let table: UnsafeRawPointer = {
    let words = UnsafeMutableRawPointer.allocate(byteCount: 192, alignment: 8)
    // Safe: 24 words of eight bytes.
    for word in 0..<24 { unsafe words.storeBytes(of: XXH3.secretWord(word * 8), toByteOffset: word * 8, as: UInt64.self) }
    return UnsafeRawPointer(words)
  }()

  // MARK: Middle inputs

  private static func hash17to128(
    _ input: UnsafeRawPointer, _ count: Int, _ seed: UInt64, _ secret: UnsafeRawPointer
  ) -> UInt64 {
    // Pairs of 16 bytes from both ends; the number of pairs follows from the length.
    var sum = UInt64(truncatingIfNeeded: count) &* XXH3.prime64x1
    var pair = (count &- 1) &>> 5
    while pair >= 0 {
      // Safe: the pair lies `16 * pair` bytes from either end, and there are more than `32 * pair`.
      unsafe sum = sum &+ mix16(input + 16 &* pair, secret + 32 &* pair, seed)
      unsafe sum = sum &+ mix16(input + (count &- 16 &- 16 &* pair), secret + (32 &* pair &+ 16), seed)
      pair = pair &- 1
    }
    return avalanche(sum)
  }

  private static func hash129to240(
    _ input: UnsafeRawPointer, _ count: Int, _ seed: UInt64, _ secret: UnsafeRawPointer
  ) -> UInt64 {
    var sum = UInt64(truncatingIfNeeded: count) &* XXH3.prime64x1
    var offset = 0
    // Safe: eight times 16 bytes of at least 129; then as many whole ones as there are, and the last 16.
    while offset < 128 {
      unsafe sum = sum &+ mix16(input + offset, secret + offset, seed)
      offset = offset &+ 16
    }
    sum = avalanche(sum)
    while offset &+ 16 <= count {
      unsafe sum = sum &+ mix16(input + offset, secret + (offset &- 125), seed)
      offset = offset &+ 16
    }
    unsafe sum = sum &+ mix16(input + (count &- 16), secret + 119, seed)
    return avalanche(sum)
  }

  // MARK: Long inputs

  private static func hashLong(
    _ input: UnsafeRawPointer, _ count: Int, _ seed: UInt64, _ secret: UnsafeRawPointer
  ) -> UInt64 {
    // Safe: 256 bytes: the secret with the seed in it, and eight sums after it. What is read is as in `XXH3.hashLong`.
    unsafe withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { memory in
      let seeded = unsafe memory.baseAddress.unsafelyUnwrapped
      let sums = unsafe (seeded + 192).assumingMemoryBound(to: UInt64.self)
      unsafe begin(sums, seeded, seed, secret)
      let key = UnsafeRawPointer(seeded)
      let stripeCount = (count &- 1) &>> 6
      var stripe = 0
      while stripe < stripeCount {
        unsafe add(sums, input + stripe &* 64, key + (stripe & 15) &* 8)
        stripe = stripe &+ 1
        if stripe & 15 == 0 { unsafe scramble(sums, key + 128) }
      }
      unsafe add(sums, input + (count &- 64), key + 121)
      var hash = UInt64(truncatingIfNeeded: count) &* XXH3.prime64x1
      unsafe hash = hash &+ foldedProduct(sums[0] ^ load(key, 11), sums[1] ^ load(key, 19))
      unsafe hash = hash &+ foldedProduct(sums[2] ^ load(key, 27), sums[3] ^ load(key, 35))
      unsafe hash = hash &+ foldedProduct(sums[4] ^ load(key, 43), sums[5] ^ load(key, 51))
      unsafe hash = hash &+ foldedProduct(sums[6] ^ load(key, 59), sums[7] ^ load(key, 67))
      return avalanche(hash)
    }
  }

  private static func begin(
    _ sums: UnsafeMutablePointer<UInt64>, _ seeded: UnsafeMutableRawPointer, _ seed: UInt64, _ secret: UnsafeRawPointer
  ) {
    let words = unsafe seeded.assumingMemoryBound(to: UInt64.self)
    var word = 0
    while word < 24 {
      unsafe words[word] = load(secret, word &* 8) &+ seed
      unsafe words[word &+ 1] = load(secret, word &* 8 &+ 8) &- seed
      word = word &+ 2
    }
    unsafe sums[0] = XXH3.prime32x3
    unsafe sums[1] = XXH3.prime64x1
    unsafe sums[2] = XXH3.prime64x2
    unsafe sums[3] = XXH3.prime64x3
    unsafe sums[4] = XXH3.prime64x4
    unsafe sums[5] = XXH3.prime32x2
    unsafe sums[6] = XXH3.prime64x5
    unsafe sums[7] = XXH3.prime32x1
  }

  /// Adds a stripe of 64 bytes.
  private static func add(_ sums: UnsafeMutablePointer<UInt64>, _ stripe: UnsafeRawPointer, _ key: UnsafeRawPointer) {
    unsafe addLane(sums, stripe, key, 0, 1)
    unsafe addLane(sums, stripe, key, 1, 0)
    unsafe addLane(sums, stripe, key, 2, 3)
    unsafe addLane(sums, stripe, key, 3, 2)
    unsafe addLane(sums, stripe, key, 4, 5)
    unsafe addLane(sums, stripe, key, 5, 4)
    unsafe addLane(sums, stripe, key, 6, 7)
    unsafe addLane(sums, stripe, key, 7, 6)
  }

  @_transparent
  private static func addLane(
    _ sums: UnsafeMutablePointer<UInt64>, _ stripe: UnsafeRawPointer, _ key: UnsafeRawPointer, _ lane: Int, _ other: Int
  ) {
    unsafe sums[other] = sums[other] &+ load(stripe, lane &* 8)
    let keyed = unsafe load(stripe, lane &* 8) ^ load(key, lane &* 8)
    unsafe sums[lane] = sums[lane] &+ (keyed & 0xffff_ffff) &* (keyed &>> 32)
  }

  private static func scramble(_ sums: UnsafeMutablePointer<UInt64>, _ key: UnsafeRawPointer) {
    var lane = 0
    while lane < 8 {
      unsafe sums[lane] = (sums[lane] ^ sums[lane] &>> 47 ^ load(key, lane &* 8)) &* XXH3.prime32x1
      lane = lane &+ 1
    }
  }

  // MARK: Mixing

  @_transparent
  private static func mix16(_ input: UnsafeRawPointer, _ secret: UnsafeRawPointer, _ seed: UInt64) -> UInt64 {
    unsafe foldedProduct(load(input, 0) ^ (load(secret, 0) &+ seed), load(input, 8) ^ (load(secret, 8) &- seed))
  }

  @_transparent
  private static func foldedProduct(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.low ^ product.high
  }

  @_transparent
  private static func avalanche(_ value: UInt64) -> UInt64 {
    let hash = (value ^ value &>> 37) &* 0x1656_6791_9e37_79f9
    return hash ^ hash &>> 32
  }

  @_transparent
  private static func load(_ input: UnsafeRawPointer, _ offset: Int) -> UInt64 {
    // As in `PlainOperations`, whose function would be a call: only what is in the same file, or in another module, is inlined.
    unsafe (input + offset).assumingMemoryBound(to: UInt64.self).pointee
  }
}
