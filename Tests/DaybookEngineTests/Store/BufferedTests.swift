import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// Files that are read with `pread` through a page cache: bounded memory, errors instead of a dead process, and otherwise the
// same as mapped ones. (The whole suite runs on them too: `DAYBOOK_ACCESS=buffered swift test`.)

private let path = storePath
private let cacheByteCount = 128 << 10

@Suite("Store: buffered access")
struct BufferedTests {
  /// Some hundred kilobytes of keys in a random order of the log, with a checkpoint behind.
  private static func fill(_ store: KeyValueStore, count: Int = 4000, byteCount: Int = 300) throws -> Contents {
    var contents: Contents = [:]
    for start in stride(from: 0, to: count, by: 100) {
      try store.write { transaction in
        for number in start..<start + 100 {
          let key = "key \(number * 7919 % count + 100_000)"
          contents[key] = filler(number, byteCount)
          try transaction.put(key, filler(number, byteCount))
        }
      }
    }
    return contents
  }

  private func readCount(_ disk: SimulatedDisk) -> Int { disk.trace.count { $0.operation == .read } }

  @Test("a database of many times the cache is scanned, checked, compacted and changed within the bound")
  func boundedMemory() throws {
    let disk = newDisk(64)
    let options = StoreOptions.small().buffered(pageCacheByteCount: cacheByteCount)
    var store = try KeyValueStore(path, disk: disk, options: options)
    var contents = try Self.fill(store)
    try store.close()
    store = try KeyValueStore(path, disk: disk, options: options)
    let fileByteCount = try store.store.fileByteCount()
    #expect(fileByteCount > 8 * cacheByteCount)
    func expectBounded(_ what: String) throws {
      let resident = try #require(store.store.pageCacheResidentByteCount)
      #expect(resident > 0 && resident <= cacheByteCount, "\(what): \(resident) bytes")
    }
    #expect(try store.contents() == contents)
    try expectBounded("scan")
    try store.checkThoroughly()
    try expectBounded("check")
    let key = "key 100000"
    for number in 0..<50 {
      #expect(try store.value("key \(number * 77 + 100_000)") == contents["key \(number * 77 + 100_000)"])
    }
    try expectBounded("gets")
    // One snapshot all along, and one transaction that touches every leaf.
    let old = store.store
    let pin = try old.beginRead()
    let before = contents
    try store.write { transaction in
      for number in stride(from: 0, to: 4000, by: 10) {
        contents["key \(number + 100_000)"] = filler(number, 20)
        try transaction.put("key \(number + 100_000)", filler(number, 20))
        _ = try transaction.value("key \(3999 - number + 100_000)")
      }
    }
    try expectBounded("transaction")
    try store.compact()
    try expectBounded("compaction")
    #expect(try store.contents() == contents)
    let buffer = ByteBuffer()
    let seen = try [UInt8](key.utf8).withView { (key: ByteView) throws in
      try KeyValueStore.get(key, old, pin, into: buffer)?.array
    }
    #expect(old !== store.store && seen == before[key] && seen != contents[key])
    old.endRead(pin)
    try expectBounded("scan of the new file")
    try store.checkThoroughly()
    try store.close()
  }

  @Test("what is asked for again and again stays while walks over the whole file go by")
  func scanResistance() throws {
    let disk = newDisk(16)
    let options = StoreOptions.small().buffered(pageCacheByteCount: cacheByteCount)
    let store = try KeyValueStore(path, disk: disk, options: options)
    _ = try Self.fill(store)
    for _ in 0..<3 { _ = try store.value("key 100500") }
    for _ in 0..<3 {
      _ = try store.contents()
      _ = try store.value("key 100500")
    }
    disk.startTrace()
    _ = try store.value("key 100500")
    #expect(readCount(disk) == 0)
    try store.close()
  }

  @Test("each read that fails once makes its call throw, leaves nothing in the cache, and the next try finds everything")
  func eachReadFails() throws {
    let made = newDisk()
    var options = StoreOptions.small().buffered(pageCacheByteCount: 64 << 10)
    options.partByteCount = 1 << 20
    var store = try KeyValueStore(path, disk: made, options: options)
    let contents = try Self.fill(store, count: 500, byteCount: 150)
    try store.put("last", [1])
    try store.close()
    let works: [(String, (KeyValueStore) throws -> Void)] = [
      ("get", { _ = try $0.value("key 100007") }),
      ("scan", { _ = try $0.contents() }),
      ("check", { try $0.checkThoroughly() }),
      ("write", { try $0.write { try $0.put("key 100003", filler(3, 10)) } }),
      ("read and write", { store in try store.write { _ = try $0.value("key 100004") } }),
      ("compact", { try $0.compact() }),
    ]
    var failureCount = 0
    for (name, work) in works {
      for call in 1... {
        let disk = made.killed()
        store = try KeyValueStore(path, disk: disk, options: options)
        disk.startTrace()
        disk.inject(SimulatedFault([.read], call: call))
        let thrown = thrownCase { try work(store) }
        let hasStruck = readCount(disk) >= call
        disk.removeFaults()
        #expect(thrown == (hasStruck ? "disk" : nil), "\(name), read \(call)")
        let isDead = store.store.log.isDead.load(ordering: .acquiring)
        #expect(!isDead)
        #expect(store.store.source.firstFault.withLock { $0 } == nil, "\(name), read \(call) is taken for damage")
        try work(store)
        var found = try store.contents()
        if found["key 100003"] == filler(3, 10) { found["key 100003"] = contents["key 100003"] }
        found["last"] = nil
        #expect(found == contents, "\(name), read \(call)")
        try store.checkThoroughly()
        try store.close()
        if !hasStruck { break }
        failureCount += 1
        if call > 60 { break }
      }
    }
    #expect(failureCount > 60)
  }

  @Test("an open whose reads fail throws, writes nothing, and is no reason to leave a checkpoint aside")
  func eachReadOfOpenFails() throws {
    let made = newDisk()
    let options = StoreOptions.small().buffered()
    let first = try KeyValueStore(path, disk: made, options: options)
    let contents = try Self.fill(first, count: 300, byteCount: 100)
    let killed = made.killed()
    for isReadOnly in [false, true] {
      for call in 1... {
        let disk = killed.killed()
        disk.startTrace()
        disk.inject(SimulatedFault([.read], call: call))
        let options = isReadOnly ? options.readOnly : options
        let thrown = thrownCase { try KeyValueStore(path, disk: disk, options: options).close() }
        let hasStruck = readCount(disk) >= call
        #expect(thrown == (hasStruck ? "disk" : nil))
        if !hasStruck { break }
        // What nothing proves durable may have been written again, also by a reader that is alone; that changes no byte.
        #expect(disk.bytes(of: path) == killed.bytes(of: path))
        let again = try KeyValueStore(path, disk: disk, options: options)
        #expect(again.store.recovery.basis == .newestCheckpoint)
        #expect(try again.contents() == contents)
        try again.checkThoroughly()
        try again.close()
      }
    }
    try first.close()
  }

  @Test("reads that are cut short or interrupted go on")
  func shortReads() throws {
    let disk = newDisk()
    disk.cutTransfers()
    let options = StoreOptions.small().buffered(pageCacheByteCount: 64 << 10)
    var store = try KeyValueStore(path, disk: disk, options: options)
    let contents = try Self.fill(store, count: 300, byteCount: 100)
    try store.close()
    store = try KeyValueStore(path, disk: disk, options: options)
    #expect(try store.contents() == contents)
    try store.checkThoroughly()
    try store.close()
  }

  @Test("a file that somebody truncates under a reader makes calls throw, and the process lives")
  func truncatedUnderReader() throws {
    try withDirectory { directory in
      let name = directory + "/book"
      let disk = SystemDisk()
      let options = StoreOptions.small().buffered(pageCacheByteCount: 64 << 10)
      var store = try KeyValueStore(name, disk: disk, options: options)
      _ = try Self.fill(store, count: 1000, byteCount: 300)
      try store.close()
      store = try KeyValueStore(name, disk: disk, options: options.readOnly)
      let vandal = try disk.open(name, .readWrite)
      try vandal.truncate(to: 20_000)
      #expect(thrownCase { _ = try store.contents() } == "disk")
      #expect(thrownCase { try store.checkThoroughly() } == "disk")
      // The log that was shown is gone, so the file is opened again; what is left of it may be read, or not.
      if thrownCase({ _ = try store.stores.refresh() }) == nil { _ = thrownCase { _ = try store.contents() } }
      try store.close()
    }
  }

  @Test("a reader beside a writer sees what comes into a block that it has read before")
  func blocksThatGrow() throws {
    let disk = newDisk()
    let options = StoreOptions.withoutCheckpoints().buffered()
    let writer = try KeyValueStore(path, disk: disk, options: options)
    try writer.put("k0", [0])
    let reader = try KeyValueStore(path, disk: disk, options: options.readOnly)
    var seen: Contents = [:]
    // A hundred small commits in a few blocks; each read keeps the block as far as it was verified.
    for number in 0..<100 as Range<UInt8> {
      try writer.put("k\(number)", [number])
      _ = try reader.store.refresh()
      let found = try reader.contents()
      #expect(found.count >= seen.count)
      for (key, value) in found { #expect(key == "k\(value[0])") }
      seen = found
    }
    #expect(seen.count > 90)
    try reader.checkThoroughly()
    try writer.close()
    try reader.close()
  }

  @Test("a byte that is corrupted on the disk is noticed, and when the disk gives the right one again, so does the read")
  func corruptBody() throws {
    let disk = newDisk()
    let options = StoreOptions.withoutCheckpoints().buffered()
    let store = try KeyValueStore(path, disk: disk, options: options)
    try store.put("a", filler(1, 100))
    let place = try #require(try store.place("a"))
    disk.corrupt(path, at: Int(place.offset) + 50, mask: 4)
    #expect(thrownCase { _ = try store.value("a") } == "operation")
    disk.corrupt(path, at: Int(place.offset) + 50, mask: 4)
    #expect(try store.value("a") == filler(1, 100))
    try store.close()
  }

  @Test("a buffered file is the same file: mapped and buffered opens take turns")
  func mixedAccess() throws {
    let disk = newDisk()
    var contents: Contents = [:]
    for round in 0..<6 {
      var options = StoreOptions.small(seed: UInt64(round)).buffered()
      if round % 2 == 0 { options.access = .mapped }
      let store = try KeyValueStore(path, disk: disk, options: options)
      #expect(try store.contents() == contents)
      let isWhole = round % 2 == 0 && TestSetting.mappedByteCount == .max
      #expect((store.store.pageCacheResidentByteCount == nil) == isWhole)
      for number in 0..<60 {
        contents["key \(number * (round + 1) % 97)"] = filler(number + round, 80)
        try store.put("key \(number * (round + 1) % 97)", filler(number + round, 80))
      }
      try store.checkThoroughly()
      if round == 3 { continue }
      try store.close()
    }
  }
}

@Suite("Store: buffered threads", .serialized)
struct BufferedThreadTests {
  @Test("readers, walks, a writer, checkpoints and compactions share a cache that is far too small")
  func crowd() throws {
    var options = StoreOptions.small().buffered(pageCacheByteCount: 64 << 10)
    options.hasBackgroundThread = true
    options.minimumLogBudgetByteCount = 64 << 10
    options.maximumLogBudgetByteCount = 64 << 10
    let store = try KeyValueStore(path, disk: MemoryDisk(), options: options)
    let keyCount = 400
    // A value says which key and round it belongs to, so a reader knows what it may be.
    @Sendable func key(_ number: Int) -> String { "key \(number + 1000)" }
    @Sendable func value(_ number: Int, _ round: Int) -> [UInt8] {
      [UInt8(number & 255), UInt8(number >> 8), UInt8(round)] + filler(number * 100 + round, 150)
    }
    @Sendable func check(_ found: [UInt8], _ number: Int) throws {
      guard found.count == 153, found == value(number, Int(found[2])) else { throw Deviation("key \(number) is another's") }
    }
    try store.write { for number in 0..<keyCount { try $0.put(key(number), value(number, 0)) } }
    let isDone = Locked(false)
    let rounds = 12
    try onThreads(6) { thread in
      switch thread {
      case 0:
        defer { isDone.withLock { $0 = true } }
        for round in 1...rounds {
          for start in stride(from: 0, to: keyCount, by: 40) {
            try store.write { transaction in
              for number in start..<start + 40 {
                try transaction.put(key(number), value(number, round))
                guard let other = try transaction.value(key((number * 7) % keyCount)) else { throw Deviation("gone") }
                try check(other, (number * 7) % keyCount)
              }
            }
          }
          if round % 4 == 0 { try store.compact() }
        }
      case 1, 2:
        var step = thread
        while !isDone.withLock({ $0 }) {
          step = (step * 31 + 7) % keyCount
          let buffer = ByteBuffer()
          let found = try [UInt8](key(step).utf8).withView { (key: ByteView) throws in
            try store.get(key, into: buffer)?.array
          }
          guard let found else { throw Deviation("a key is gone") }
          try check(found, step)
        }
      case 3, 4:
        while !isDone.withLock({ $0 }) {
          var count = 0
          try store.scan { key, found in
            try check(found.array, Int(String(decoding: key.array.dropFirst(4), as: UTF8.self))! - 1000)
            count += 1
          }
          guard count == keyCount else { throw Deviation("\(count) keys in a walk") }
        }
      default:
        while !isDone.withLock({ $0 }) {
          let (current, pin) = try store.stores.beginRead()
          defer { current.endRead(pin) }
          let report = try current.check(pin)
          guard report.isClean else { throw Deviation("the check finds \(report.findings)") }
        }
      }
    }
    for number in 0..<keyCount { #expect(try store.value(key(number)) == value(number, rounds)) }
    let resident = try #require(store.store.pageCacheResidentByteCount)
    #expect(resident > 0 && resident <= 64 << 10)
    try store.checkThoroughly()
    try store.close()
  }

  @Test("threads that read one cache at once get the block that they asked for")
  func cacheThreads() throws {
    let cache = try BlockCache(byteCount: 64 << 12)
    let files = [cache.addFile(), cache.addFile()]
    try onThreads(4) { thread in
      var generator = SeededGenerator(seed: UInt64(thread))
      let bytes = ByteBuffer(capacity: 4096)
      for _ in 0..<4000 {
        let file = files[Int.random(in: 0...1, using: &generator)]
        let key = BlockCache.Key(file: file, block: .random(in: 0..<200, using: &generator))
        let mark = UInt8(truncatingIfNeeded: key.block &* 3 &+ key.file)
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: cache.evict(key)
        case 1...5:
          // Safe: the buffer has room for a block.
          if unsafe cache.copy(key, from: 0, count: 100, to: bytes.base) {
            bytes.count = 100
            guard bytes.view.array.allSatisfy({ $0 == mark }) else { throw Deviation("another block's bytes") }
          }
        default:
          bytes.removeAll()
          bytes.append([UInt8](repeating: mark, count: 4096))
          unsafe cache.keep(key, UnsafeRawPointer(bytes.base), count: .random(in: 100...4096, using: &generator), isPage: false)
        }
      }
    }
    #expect(cache.residentByteCount <= cache.byteCount)
  }
}

extension KeyValueStore {
  fileprivate func place(_ key: String) throws -> Place? {
    let pin = try store.beginRead()
    defer { store.endRead(pin) }
    return try [UInt8](key.utf8).withView { (key: ByteView) throws -> Place? in
      try pin.reader.value(key, in: pin.root(0)).map { try KeyValueStore.place($0) }
    }
  }
}
