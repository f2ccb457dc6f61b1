/// A bounded cache of blocks of files that are read with `pread`: 4096 bytes each, at multiples of 4096.
///
///     key = file number, block number  ──► shard ──► slot: bytes, how many of them count, whether they passed as a page
///
/// Nobody gets a pointer into it. A hit is copied out and a miss is copied in, under the lock of a shard, which is never held
/// during a disk call. So a block may be evicted at any moment, whoever reads. Eviction is the clock algorithm: a hand goes
/// round and takes the first block that was not used since it last passed. A block starts as unused, so a walk over a whole
/// file evicts little but itself.
///
/// One cache serves all files of a database: during a compaction, the old and the new file share the bound.
///
/// Always true: the blocks take no more than `byteCount` bytes; a block holds bytes below the verified end of some version
/// only, and those never change.
@safe package final class BlockCache: @unchecked Sendable {
  static let blockByteCount = 4096
  /// The smallest cache; a smaller request gets this.
  package static let minimumByteCount = 16 * blockByteCount

  /// The bound for all blocks together.
  package let byteCount: Int
  private let memory: UnsafeMutableRawPointer
  private let shards: [Shard]
  private let fileCount = Locked<UInt64>(0)

  /// - Parameter byteCount: the bound; less is taken where the system grants less.
  package init(byteCount request: Int) throws(DiskFailure) {
    let block = BlockCache.blockByteCount
    let most = max(request / block * block, BlockCache.minimumByteCount)
    guard let granted = unsafe RawMemory.reserveZeroed(upTo: most, least: BlockCache.minimumByteCount) else {
      throw DiskFailure(.map, path: "memory", code: ErrorNumber.noMemory, byteCount: most)
    }
    let blockCount = unsafe granted.byteCount / block
    // Threads that read different blocks seldom wait for each other; a small cache is better off in one piece.
    let shardCount = blockCount >= 1024 ? 16 : 1
    unsafe memory = granted.base
    byteCount = blockCount * block
    var shards: [Shard] = []
    var first = 0
    for index in 0..<shardCount {
      let count = (blockCount * (index + 1)) / shardCount - first
      // Safe: the shards' pieces lie one behind the other within the memory.
      unsafe shards.append(Shard(granted.base + first * block, blockCount: count))
      first += count
    }
    self.shards = shards
  }

  deinit { unsafe RawMemory.release(memory, byteCount: byteCount) }

  /// A number for one more file. No two files ever share one.
  func addFile() -> UInt64 {
    fileCount.withLock { count in
      count += 1
      return count
    }
  }

  /// What the blocks occupy now.
  package var residentByteCount: Int {
    shards.reduce(0) { $0 + $1.blockCount } * BlockCache.blockByteCount
  }

  struct Key: Hashable {
    let file: UInt64
    let block: UInt64

    fileprivate var mixed: UInt64 { (block ^ file &<< 44) &* 0x9E37_79B9_7F4A_7C15 }
    func hash(into hasher: inout Hasher) { hasher.combine(mixed) }
  }

  private func shard(_ key: Key) -> Shard { shards[Int(key.mixed &>> 32) & (shards.count &- 1)] }

  /// Copies bytes out of a block; false when the block, or the end of those bytes, is not in the cache.
  func copy(_ key: Key, from start: Int, count: Int, to target: UnsafeMutableRawPointer) -> Bool {
    unsafe shard(key).copy(key, from: start, count: count, to: target) != nil
  }

  /// Copies out a whole block; nil when it is not in the cache, else whether it has passed its check as a page.
  func copyPage(_ key: Key, to target: UnsafeMutableRawPointer) -> Bool? {
    unsafe shard(key).copy(key, from: 0, count: BlockCache.blockByteCount, to: target)
  }

  /// Keeps a block of which `count` bytes lie below the verified end.
  func keep(_ key: Key, _ bytes: UnsafeRawPointer, count: Int, isPage: Bool) {
    unsafe shard(key).keep(key, bytes, count: count, isPage: isPage)
  }

  func evict(_ key: Key) { shard(key).evict { $0 == key } }
  func evict(file: UInt64) { for shard in shards { shard.evict { $0.file == file } } }
}

extension BlockCache {
  /// The cache of one database: made when a file of it is first read through one, and the same for the files that replace it.
  package final class Shared: Sendable {
    private let byteCount: Int
    private let made = Locked<BlockCache?>(nil)

    package init(byteCount: Int) { self.byteCount = byteCount }

    func cache() throws(DiskFailure) -> BlockCache {
      try made.withLock { (made) throws(DiskFailure) in
        if let made { return made }
        let cache = try BlockCache(byteCount: byteCount)
        made = cache
        return cache
      }
    }
  }
}

/// A part of the cache under one lock.
@safe private final class Shard: @unchecked Sendable {
  private struct Slot {
    var key: BlockCache.Key
    var byteCount: Int
    var isPage: Bool
    /// Since the hand last passed.
    var isUsed: Bool
  }

  private let monitor = Monitor()
  private let memory: UnsafeMutableRawPointer
  private let capacity: Int
  private var slots: [Slot?] = []
  private var index: [BlockCache.Key: Int] = [:]
  private var free: [Int] = []
  private var hand = 0

  init(_ memory: UnsafeMutableRawPointer, blockCount: Int) {
    unsafe self.memory = memory
    capacity = blockCount
  }

  var blockCount: Int { monitor.withLock { index.count } }

  // Safe, here and below: a slot's number is below the capacity, so its block lies within the memory; callers have room for
  // what they ask for.
  private func block(_ slot: Int) -> UnsafeMutableRawPointer { unsafe memory + slot * BlockCache.blockByteCount }

  func copy(_ key: BlockCache.Key, from start: Int, count: Int, to target: UnsafeMutableRawPointer) -> Bool? {
    monitor.lock()
    defer { monitor.unlock() }
    guard let slot = index[key], let known = slots[slot], start + count <= known.byteCount else { return nil }
    unsafe target.copyMemory(from: block(slot) + start, byteCount: count)
    if !known.isUsed { slots[slot]?.isUsed = true }
    return known.isPage
  }

  func keep(_ key: BlockCache.Key, _ bytes: UnsafeRawPointer, count: Int, isPage: Bool) {
    monitor.lock()
    defer { monitor.unlock() }
    if let slot = index[key], let known = slots[slot] {
      // Another thread was faster. Bytes below the verified end are the same for everyone; a thread that saw a later end has
      // more of them.
      if known.byteCount > count || known.byteCount == count && known.isPage { return }
      unsafe block(slot).copyMemory(from: bytes, byteCount: count)
      slots[slot] = Slot(key: key, byteCount: count, isPage: isPage || known.isPage, isUsed: known.isUsed)
      return
    }
    let slot = slotToFill()
    unsafe block(slot).copyMemory(from: bytes, byteCount: count)
    slots[slot] = Slot(key: key, byteCount: count, isPage: isPage, isUsed: false)
    index[key] = slot
  }

  private func slotToFill() -> Int {
    if let slot = free.popLast() { return slot }
    if slots.count < capacity {
      slots.append(nil)
      return slots.count - 1
    }
    while true {
      let slot = hand
      hand = hand + 1 == capacity ? 0 : hand + 1
      guard let known = slots[slot] else { continue }
      if known.isUsed {
        slots[slot]?.isUsed = false
      } else {
        index[known.key] = nil
        return slot
      }
    }
  }

  func evict(where isUnwanted: (BlockCache.Key) -> Bool) {
    monitor.lock()
    defer { monitor.unlock() }
    for slot in slots.indices {
      guard let known = slots[slot], isUnwanted(known.key) else { continue }
      index[known.key] = nil
      slots[slot] = nil
      free.append(slot)
    }
  }
}
