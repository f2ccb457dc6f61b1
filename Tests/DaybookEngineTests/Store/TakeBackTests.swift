import Testing

@testable import DaybookEngine
@testable import DaybookTesting

/// A transaction that was rolled back after parts of it were written, or that a full disk has refused, gives its room back while
/// others read the file, or while the disk goes on failing.
@Suite("Room given back")
struct TakeBackTests {
  private static func options(partByteCount: Int) -> StoreOptions {
    var options = StoreOptions.small()
    options.partByteCount = partByteCount
    options.reserveByteCount = 4096
    options.closeCheckpointByteCount = 1 << 30
    return options
  }

  private static func put(_ transaction: StoreTransaction, _ key: String, _ byteCount: Int) throws {
    let (name, value) = (ByteBuffer(capacity: 64), ByteBuffer(capacity: byteCount))
    name.append(utf8: key)
    value.append([UInt8](repeating: 7, count: byteCount))
    try KeyValueTransaction(transaction).put(name.view, value.view)
  }

  /// A commit, and a transaction with two parts in the log, the first of them durable: another thread's sync has taken it along, and
  /// the second says so.
  private static func writerWithParts(
    on disk: SimulatedDisk
  ) throws -> (writer: KeyValueStore, transaction: StoreTransaction) {
    let writer = try KeyValueStore("a", disk: disk, options: options(partByteCount: 4096))
    try writer.write { transaction in try put(transaction.transaction, "c", 600_000) }
    let transaction = try writer.stores.beginTransaction()
    try put(transaction, "part 1", 600_000)
    try writer.stores.sync()
    try put(transaction, "part 2", 5000)
    return (writer, transaction)
  }

  private static var bufferedReader: StoreOptions {
    var options = options(partByteCount: 4096).readOnly
    options.access = .buffered
    options.pageCacheByteCount = 256 << 10
    return options
  }

  @Test("a reader opens beside a writer whose parts go back at any moment of that")
  func readerBeside() throws {
    for moment in 1..<60 {
      let disk = SimulatedDisk(seed: 3)
      let (writer, _) = try Self.writerWithParts(on: disk)
      let hooked = ReadDisk(disk)
      let readCount = Locked(0)
      let hasEnded = Locked(false)
      let giveBack: @Sendable () -> Void = {
        hasEnded.withLock { $0 = true }
        disk.limit(toByteCount: 0)
        try? Self.put(writer.store.reusableTransaction, "part 3", 200_000)
        writer.store.abandon(writer.store.reusableTransaction)
        disk.limit(toByteCount: nil)
      }
      hooked.beforeRead.withLock { hook in
        hook = {
          let count = readCount.withLock { count in
            count += 1
            return count
          }
          if count == moment { giveBack() }
        }
      }
      let options = Self.bufferedReader
      let reader = try KeyValueStore("a", disk: hooked, options: options)
      #expect(try reader.value("c")?.count == 600_000)
      let wasReached = hasEnded.withLock { $0 }
      if !wasReached { giveBack() }
      try reader.close()
      try writer.close()
      if !wasReached { return }
    }
  }

  @Test("a reader without a mapping sees nothing of a transaction that was refused, where the next one has its place")
  func readerOfTheNext() throws {
    let disk = SimulatedDisk(seed: 3)
    let writer = try KeyValueStore("a", disk: disk, options: Self.options(partByteCount: 4096))
    try writer.put("c", [1])
    let transaction = try writer.stores.beginTransaction()
    try Self.put(transaction, "d", 50)
    try Self.put(transaction, "part 1", 5000)
    try writer.stores.sync()
    try Self.put(transaction, "part 2", 5000)
    let options = Self.bufferedReader
    let reader = try KeyValueStore("a", disk: disk, options: options)
    #expect(try reader.value("c") == [1])
    disk.limit(toByteCount: 0)
    #expect(throws: StoreError.self) { try Self.put(transaction, "part 3", 200_000) }
    writer.store.abandon(transaction)
    disk.limit(toByteCount: nil)
    // At the same place, and as long.
    try writer.put("d", [UInt8](repeating: 9, count: 50))
    try writer.put("e", [1])
    try writer.store.writeNoteNow()
    #expect(try reader.stores.refresh())
    #expect(try reader.value("d") == [UInt8](repeating: 9, count: 50))
    try reader.close()
    try writer.close()
  }

  @Test("a reader shows no commit that is not durable where a part had its number that was, and went back")
  func numberGivenAgain() throws {
    for moment in 1..<60 {
      let disk = SimulatedDisk(seed: 3)
      let (writer, transaction) = try Self.writerWithParts(on: disk)
      let hooked = ReadDisk(disk)
      let state = Locked((readCount: 0, hasEnded: false))
      let goOn: @Sendable () -> Void = {
        state.withLock { $0.hasEnded = true }
        disk.limit(toByteCount: 0)
        try? Self.put(writer.store.reusableTransaction, "part 3", 200_000)
        writer.store.abandon(writer.store.reusableTransaction)
        disk.limit(toByteCount: nil)
        // At the place of the first part, with its number, and not synced yet.
        guard let next = try? writer.stores.beginTransaction() else { return }
        try? Self.put(next, "d", 50)
        _ = try? writer.store.commit(next)
      }
      hooked.beforeRead.withLock { hook in
        hook = {
          let isNow = state.withLock { state in
            state.readCount += 1
            return state.readCount == moment
          }
          if isNow { goOn() }
        }
      }
      let options = Self.bufferedReader
      let reader = try KeyValueStore("a", disk: hooked, options: options)
      #expect(try reader.value("c")?.count == 600_000)
      #expect(try reader.value("d") == nil, "shown after read \(moment)")
      #expect(try reader.value("part 1") == nil)
      let wasReached = state.withLock { $0.hasEnded }
      try reader.close()
      hooked.beforeRead.withLock { $0 = nil }
      if !wasReached { writer.store.abandon(transaction) }
      try writer.close()
      if !wasReached { return }
    }
  }

  /// The bytes of a file: one commit, then parts of the next transaction, and its commit if `commits`.
  private static func bytes(parts: Int, filledWith byte: UInt8, commits: Bool) throws -> (bytes: [UInt8], ends: [LogPosition]) {
    let disk = SimulatedDisk(seed: 3)
    let writer = try KeyValueStore("a", disk: disk, options: options(partByteCount: 4096))
    try writer.put("c", [1])
    var ends = [writer.store.log.tail.position]
    let transaction = try writer.stores.beginTransaction()
    for number in 0..<parts {
      let (name, value) = (ByteBuffer(capacity: 64), ByteBuffer(capacity: 5000))
      name.append(utf8: "part \(number)")
      value.append([UInt8](repeating: byte, count: 5000))
      try KeyValueTransaction(transaction).put(name.view, value.view)
      ends.append(writer.store.log.tail.position)
      try writer.stores.sync()
    }
    defer { try? writer.close() }
    if commits {
      try put(transaction, "last", 50)
      _ = try writer.store.commit(transaction)
      return (try #require(disk.bytes(of: "a")), ends)
    }
    defer { writer.store.abandon(transaction) }
    return (try #require(disk.bytes(of: "a")), ends)
  }

  @Test("a reader whose two looks each meet a failing commit, and parts of the next behind it, calls nothing corrupt")
  func twoTakeBacksWithinTwoLooks() throws {
    let salt = try Self.bytes(parts: 0, filledWith: 0, commits: false).bytes.withView { $0.uint64(at: 40) }
    // What the first transaction had written of its commit when its disk was full, and what stood behind it a moment later.
    let mixed = try [UInt8(2), 3].map { byte in
      let failing = try Self.bytes(parts: 2, filledWith: 1, commits: true)
      let next = try Self.bytes(parts: 8, filledWith: byte, commits: false)
      let commit = Int(failing.ends[2].offset) + FrameHeader.byteCount
      return Array(failing.bytes[..<commit]) + [UInt8](repeating: 0, count: 8) + Array(next.bytes[(commit + 8)...])
    }
    func plan(_ bytes: [UInt8]) throws(DiskFailure) -> RecoveryPlan {
      let file = SimulatedDisk(seed: 1)
      file.install(bytes, at: "b")
      let window = LogWindow(try file.open("b", .readOnly), byteCount: bytes.count)
      return try LogReader(window, salt: salt).plan()
    }
    for bytes in mixed { #expect(try plan(bytes).ending == .corrupt(lost: 2...2), "else this shows nothing") }
    let third = try Self.bytes(parts: 3, filledWith: 4, commits: true).bytes
    var looks = [mixed[0], mixed[1], third]
    let found = try RecoveryPlan.besideWriter { () throws(DiskFailure) in try plan(looks.removeFirst()) }
    #expect(found.ending == .clean && found.lastSequence == 2)
    // The same at both looks: that is corruption.
    looks = [mixed[1], mixed[0], mixed[0], third]
    let corrupt = try RecoveryPlan.besideWriter { () throws(DiskFailure) in try plan(looks.removeFirst()) }
    #expect(corrupt.ending == .corrupt(lost: 2...2) && looks.count == 1)
  }

  @Test("a transaction that is rolled back leaves no parts in the file, and a power loss meanwhile no damage")
  func rolledBack() throws {
    for seed in 0..<2 as Range<UInt64> {
      let disk = SimulatedDisk(seed: seed)
      let (writer, transaction) = try Self.writerWithParts(on: disk)
      let endOfParts = writer.store.log.tail.offset
      disk.observe { call in
        for seed in 0..<4 as Range<UInt64> {
          let image = disk.crashed(seed: seed, policy: .random)
          #expect(throws: Never.self, "power loss before \(call), \(seed)") {
            let found = try KeyValueStore("a", disk: image, options: Self.options(partByteCount: 4096))
            #expect(try found.value("c")?.count == 600_000)
            #expect(try found.value("part 1") == nil)
            try found.close()
          }
        }
      }
      writer.store.abandon(transaction)
      let end = writer.store.log.tail.offset
      #expect(end + 600_000 < endOfParts)
      let byteCount = try writer.store.log.file.byteCount()
      #expect(byteCount <= Int(end) + 2 * 4096)
      // Else a full disk has no reserve, and commits find no zeros.
      #expect(Int(writer.store.log.zerosEnd.load(ordering: .relaxed)) <= byteCount)
      // At the place of the parts, with their numbers.
      for number in 0..<3 { try writer.put("d\(number)", [UInt8](repeating: 9, count: 3000)) }
      disk.observe(nil)
      #expect(try writer.value("part 1") == nil)
      for number in 0..<3 { #expect(try writer.value("d\(number)")?.count == 3000) }
      try writer.close()
      let again = try KeyValueStore("a", disk: disk, options: Self.options(partByteCount: 4096))
      #expect(try again.count == 4)
      try again.close()
    }
  }

  @Test("beside a reader the parts of a transaction that is rolled back stay, and both go on")
  func rolledBackBesideReader() throws {
    let disk = SimulatedDisk(seed: 3)
    let (writer, transaction) = try Self.writerWithParts(on: disk)
    let reader = try KeyValueStore("a", disk: disk, options: Self.bufferedReader)
    let end = writer.store.log.tail.offset
    writer.store.abandon(transaction)
    // The parts stay, and a note says that they are over.
    #expect(writer.store.log.tail.offset == end + 96)
    try writer.put("d", [1])
    try writer.store.writeNoteNow()
    try reader.refresh()
    #expect(try reader.value("d") == [1])
    #expect(try reader.value("part 1") == nil)
    try reader.close()
    try writer.close()
  }

  @Test("a file whose parts could not be taken back all the way is not called cut after a power loss in its close")
  func failsHalfWay() throws {
    for failing in 2..<8 {
      let disk = SimulatedDisk(seed: 3)
      let store = try KeyValueStore("a", disk: disk, options: Self.options(partByteCount: 100_000))
      try store.put("c", [1])
      let transaction = try store.stores.beginTransaction()
      try Self.put(transaction, "part 1", 120_000)
      for call in [1, failing] {
        disk.inject(SimulatedFault([.write], call: call, code: ErrorNumber.noSpace, leavesPartOfWrite: false, path: "a"))
      }
      #expect(throws: StoreError.self) { try Self.put(transaction, "part 2", 120_000) }
      store.store.abandon(transaction)
      disk.removeFaults()
      disk.observe { call in
        for seed in 0..<20 as Range<UInt64> {
          let image = disk.crashed(seed: seed, policy: .random)
          #expect(throws: Never.self, "power loss before \(call), \(seed)") {
            let found = try KeyValueStore("a", disk: image, options: Self.options(partByteCount: 100_000))
            #expect(try found.value("c") == [1])
          }
        }
      }
      try store.close()
      disk.observe(nil)
    }
  }
}

/// A disk that lets something happen before each read.
private final class ReadDisk: ForwardingDisk, @unchecked Sendable {
  let disk: SimulatedDisk
  let beforeRead = Locked<(@Sendable () -> Void)?>(nil)

  init(_ disk: SimulatedDisk) { self.disk = disk }

  func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    ReadFile(try disk.open(path, mode), self)
  }
}

private final class ReadFile: ForwardingFile {
  let file: any DiskFile
  private let disk: ReadDisk

  init(_ file: any DiskFile, _ disk: ReadDisk) {
    self.file = file
    self.disk = disk
  }

  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int {
    disk.beforeRead.withLock { $0 }?()
    // Safe: the caller's word, handed on.
    return unsafe try file.read(into: target, count: count, at: offset)
  }
}
