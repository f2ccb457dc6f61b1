import DaybookEngine
import Synchronization

/// Keys in the order in which a program sets them in new records of a type. It does so in the same order each time, so a draft that
/// knows the order compares one key and searches none (row: use-insert-200-fields).
///
///     offset  size  field (numbers as the processor has them)
///          0     8  key count n
///          8     8  byte count of all keys
///         16     8  hash of the order
///         24    16  the type
///         40  16×n  the keys, in the order in which they are set
///              4×n  by the keys' bytes: a key's number in that order, and its byte count << 16
///                   the bytes of all keys, sorted: the key heap of a body that has them all
///
/// Always true: the keys are sound, and no two are the same. The bytes never change and are never freed: `KeyOrders` makes few.
@safe struct KeyOrder: Sendable {
  static let countLimit = 2048
  fileprivate static let headerByteCount = 40
  fileprivate static let keyStride = 16

  private nonisolated(unsafe) let base: UnsafeRawPointer

  fileprivate init?(address: UInt) {
    guard let base = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
    unsafe self.base = base
  }

  /// - Parameter edits: plain ones only, of which `number` leads to each in the order in which they were made.
  fileprivate init(type: String, hash: UInt64, _ edits: FieldEdits, byteCount: Int) {
    let count = edits.count
    let ranksStart = KeyOrder.headerByteCount + KeyOrder.keyStride * count
    let bytesStart = ranksStart + 4 * count
    let memory = UnsafeMutableRawPointer.allocate(byteCount: bytesStart + byteCount, alignment: 8)
    // Safe: every store below lies within the bytes: so many keys, with so many bytes in all.
    unsafe memory.storeBytes(of: count, as: Int.self)
    unsafe memory.storeBytes(of: byteCount, toByteOffset: 8, as: Int.self)
    unsafe memory.storeBytes(of: hash, toByteOffset: 16, as: UInt64.self)
    unsafe (memory + 24).initializeMemory(as: String.self, repeating: type, count: 1)
    var end = bytesStart
    for rank in 0..<count {
      let key = edits[rank].key
      let number = edits.number(at: rank)
      unsafe (memory + KeyOrder.headerByteCount + KeyOrder.keyStride * number)
        .initializeMemory(as: String.self, repeating: key, count: 1)
      UTF8Order.withView(of: key) { bytes in
        unsafe (memory + end).copyMemory(from: bytes.base, byteCount: bytes.count)
        unsafe memory.storeBytes(
          of: UInt32(truncatingIfNeeded: number | bytes.count &<< 16), toByteOffset: ranksStart + 4 * rank, as: UInt32.self)
        end += bytes.count
      }
    }
    unsafe base = UnsafeRawPointer(memory)
  }

  fileprivate var address: UInt { unsafe UInt(bitPattern: base) }

  // Safe, here and below: the header was filled when the order was made.
  @_transparent var count: Int { unsafe base.load(as: Int.self) }

  fileprivate var hash: UInt64 { unsafe base.load(fromByteOffset: 16, as: UInt64.self) }

  fileprivate var type: String { unsafe base.load(fromByteOffset: 24, as: String.self) }

  /// What all its keys take.
  static func byteCount(_ count: Int, keyByteCount: Int) -> Int { headerByteCount + (keyStride + 4) * count + keyByteCount }

  /// The key that is set as the `number`-th.
  func key(_ number: Int) -> String {
    precondition(number >= 0 && number < count, "a key of an order has a number below their count")
    // Safe: the line above.
    return unsafe base.load(fromByteOffset: KeyOrder.headerByteCount + KeyOrder.keyStride * number, as: String.self)
  }

  /// Whether a string is the key with a number: as the same two words, which short strings and the literals of a place in a program
  /// are, or by its bytes.
  @inline(__always)
  func has(_ key: String, at number: Int) -> Bool {
    precondition(number >= 0 && number < count, "a key of an order has a number below their count")
    // Safe: a string is two words, and so many of them are there. The order keeps its strings, so that what is at their
    // addresses does not change.
    let words = unsafe unsafeBitCast(key, to: (UInt64, UInt64).self)
    let offset = KeyOrder.headerByteCount &+ KeyOrder.keyStride &* number
    if unsafe base.load(fromByteOffset: offset, as: UInt64.self) == words.0
      && base.load(fromByteOffset: offset &+ 8, as: UInt64.self) == words.1
    {
      return true
    }
    return hasBytes(of: key, at: number)
  }

  @inline(never)
  private func hasBytes(of key: String, at number: Int) -> Bool { UTF8Order.equal(self.key(number), key) }

  /// The keys' numbers and byte counts, by their rank when they are sorted.
  @_transparent var places: Places {
    let count = count
    // Safe: so many were filled; they are never freed.
    return unsafe Places(base + KeyOrder.headerByteCount + KeyOrder.keyStride * count, count: count)
  }

  @safe struct Places {
    private let base: UnsafeRawPointer
    let count: Int

    @_transparent
    init(_ base: UnsafeRawPointer, count: Int) {
      unsafe self.base = base
      self.count = count
    }

    subscript(rank: Int) -> Place {
      @_transparent
      get {
        guard rank >= 0, rank < count else { preconditionFailure("a rank is below the count of keys") }
        // Safe: the line above.
        return Place(bits: unsafe base.load(fromByteOffset: 4 &* rank, as: UInt32.self))
      }
    }
  }

  struct Place {
    let bits: UInt32
    @_transparent init(bits: UInt32) { self.bits = bits }
    @_transparent var number: Int { Int(bits & 0xFFFF) }
    @_transparent var byteCount: UInt8 { UInt8(truncatingIfNeeded: bits &>> 16) }
  }

  /// The bytes of all keys, sorted.
  var bytes: ByteView {
    // Safe: so many were filled; they are never freed.
    unsafe ByteView(
      base + KeyOrder.headerByteCount + (KeyOrder.keyStride + 4) * count, count: base.load(fromByteOffset: 8, as: Int.self))
  }

  /// The number of a key; nil when it is none of them.
  func number(of key: ByteView) -> Int? {
    var lower = 0
    var upper = count
    while lower < upper {
      let middle = (lower + upper) / 2
      let number = places[middle].number
      let comparison = UTF8Order.compare(self.key(number), key)
      if comparison == 0 { return number }
      if comparison < 0 { lower = middle + 1 } else { upper = middle }
    }
    return nil
  }
}

/// The orders that this process has seen twice, for all its databases: a new record belongs to none of them yet.
///
///     orders   64 × 4 addresses: by type, the newest first
///     missed   256 hashes, each of the last order that was seen, not known, and has this place
///
/// Read without a lock. An order that others have pushed out is not freed, because a draft of another thread may have it; so all that
/// were ever made are limited by their bytes, and no more are learned after that. Which orders are known changes the time of a save
/// and nothing else.
@safe struct KeyOrders: Sendable {
  private static let byteCountLimit = 1 << 20
  /// Of one order.
  private static let longestByteCount = 64 << 10
  private static let setCount = 64
  private static let setSize = 4
  private static let missedCount = 256

  private static let shared = KeyOrders()

  private nonisolated(unsafe) let orders: UnsafeMutablePointer<Atomic<UInt>>
  private nonisolated(unsafe) let missed: UnsafeMutablePointer<Atomic<UInt64>>
  private let byteCount = Locked(0)

  private init() {
    unsafe orders = .allocate(capacity: KeyOrders.setCount * KeyOrders.setSize)
    unsafe missed = .allocate(capacity: KeyOrders.missedCount)
    // Safe: so many of both.
    for index in 0..<KeyOrders.setCount * KeyOrders.setSize { unsafe (orders + index).initialize(to: Atomic(0)) }
    for index in 0..<KeyOrders.missedCount { unsafe (missed + index).initialize(to: Atomic(0)) }
  }

  @_transparent
  private static func mix(_ word: UInt64) -> UInt64 { (word ^ word &>> 32) &* 0x9E37_79B9_7F4A_7C15 }

  @inline(__always)
  private static func hash(of type: ByteView) -> UInt64 {
    mix(mix(UTF8Order.head(of: type)) ^ (type.count >= 8 ? type.uint64(at: type.count &- 8) : 0))
  }

  /// Where the orders of a type are.
  @inline(__always)
  private static func firstIndex(of type: ByteView) -> Int { Int(truncatingIfNeeded: hash(of: type) &>> 58) &* setSize }

  @inline(__always)
  private func order(at index: Int) -> KeyOrder? {
    // Safe: the index is that of a set, and one below a set's size.
    unsafe KeyOrder(address: orders[index].load(ordering: .acquiring))
  }

  /// The newest order of a type that begins with a key.
  static func find(type: ByteView, firstKey: String) -> KeyOrder? {
    let shared = shared
    let first = firstIndex(of: type)
    for index in first..<first &+ setSize {
      guard let order = shared.order(at: index) else { return nil }
      if order.has(firstKey, at: 0), UTF8Order.withView(of: order.type, { UTF8Order.equal($0, type) }) { return order }
    }
    return nil
  }

  /// Another order of the same type that begins with the same keys and goes on with a key.
  @inline(never)
  static func find(beside order: KeyOrder, after count: Int, _ key: String) -> KeyOrder? {
    UTF8Order.withView(of: order.type) { type in
      let first = firstIndex(of: type)
      for index in first..<first &+ setSize {
        guard let other = shared.order(at: index) else { return nil }
        if other.address != order.address, other.count > count, other.has(key, at: count),
          UTF8Order.withView(of: other.type, { UTF8Order.equal($0, type) }),
          (0..<count).allSatisfy({ other.has(order.key($0), at: $0) })
        {
          return other
        }
      }
      return nil
    }
  }

  /// Takes note of the order in which the edits of a new record were made.
  static func note(_ edits: FieldEdits, type: ByteView) {
    let count = edits.count
    guard count > 0, count <= KeyOrder.countLimit else { return }
    var hash = hash(of: type)
    var keyByteCount = 0
    for rank in edits.indices {
      if edits[rank].isEncrypted || edits[rank].isOfBoth { return }
      let byteCount = edits[rank].key.utf8.count
      keyByteCount &+= byteCount
      hash = mix(hash ^ edits[rank].head) ^ UInt64(truncatingIfNeeded: byteCount | edits.number(at: rank) &<< 16)
    }
    let first = firstIndex(of: type)
    for index in first..<first &+ setSize {
      if let order = shared.order(at: index), order.hash == hash,
        UTF8Order.withView(of: order.type, { UTF8Order.equal($0, type) })
      {
        return
      }
    }
    shared.learn(edits, type, hash, keyByteCount, at: first)
  }

  @inline(never)
  private func learn(_ edits: FieldEdits, _ type: ByteView, _ hash: UInt64, _ keyByteCount: Int, at first: Int) {
    // A second time: many orders are seen once and never again.
    let place = Int(truncatingIfNeeded: KeyOrders.mix(hash) &>> 56)
    // Safe: eight bits, and so many places.
    guard unsafe missed[place].exchange(hash, ordering: .relaxed) == hash else { return }
    guard let type = UTF8Order.string(type, isValid: false) else { return }
    byteCount.withLock { sum in
      let byteCount = KeyOrder.byteCount(edits.count, keyByteCount: keyByteCount)
      guard byteCount <= KeyOrders.longestByteCount, sum + byteCount <= KeyOrders.byteCountLimit else { return }
      sum += byteCount
      let order = KeyOrder(type: type, hash: hash, edits, byteCount: keyByteCount)
      // Safe: the places of a set. Who reads meanwhile finds an order twice, or misses one.
      for index in (first + 1..<first + KeyOrders.setSize).reversed() {
        unsafe orders[index].store(orders[index - 1].load(ordering: .relaxed), ordering: .releasing)
      }
      unsafe orders[first].store(order.address, ordering: .releasing)
    }
  }
}
