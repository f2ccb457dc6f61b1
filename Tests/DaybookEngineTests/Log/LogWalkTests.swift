import Testing

@testable import DaybookEngine
@testable import DaybookTesting

/// What a walk over a log keeps in memory, and what it says of durability.
@Suite("A walk over a log")
struct LogWalkTests {
  private static func walk(_ disk: SimulatedDisk, _ salt: UInt64) throws -> LogWalk {
    let count = try #require(disk.bytes(of: "a")).count
    let reader = LogReader(LogWindow(try disk.open("a", .readOnly), byteCount: count), salt: salt)
    var walk = LogWalk(reader, from: .start, provenThrough: 0)
    walk.advanceToEnd()
    try reader.checkRead()
    return walk
  }

  @Test("a log of many commits that prove each other is walked without memory for each")
  func memory() throws {
    let disk = SimulatedDisk(seed: 3, maximumFileByteCount: 16 << 20)
    var options = StoreOptions.small()
    options.minimumLogBudgetByteCount = 1 << 30
    options.maximumLogBudgetByteCount = 1 << 30
    let store = try KeyValueStore("a", disk: disk, options: options)
    for number in 0..<3000 { try store.put("key \(number % 100)", [1]) }
    let walk = try Self.walk(disk, store.store.header.salt)
    #expect(walk.plan.lastSequence == 3000)
    #expect(walk.unprovenCapacity <= 1024)
    // All but the last, which no other has proven yet.
    #expect(walk.plan.provenCommitEnd.sequence == 2999)
    #expect(walk.plan.firstUnproven == walk.plan.last?.offset)
    #expect(walk.plan.hasUnprovenData)
    try store.close()
  }

  @Test("commits that wait for their sync are all unproven, from the first on, and proven with the first frame behind it")
  func unproven() throws {
    let disk = SimulatedDisk(seed: 3, maximumFileByteCount: 16 << 20)
    var options = StoreOptions.small()
    options.durability = .relaxed
    options.minimumLogBudgetByteCount = 1 << 30
    options.maximumLogBudgetByteCount = 1 << 30
    let store = try KeyValueStore("a", disk: disk, options: options)
    try store.put("first", [1])
    try store.stores.sync()
    var walk = try Self.walk(disk, store.store.header.salt)
    // Behind the note, which proves the commit, and which nothing proves.
    let place = walk.plan.end
    #expect(walk.plan.provenCommitEnd.sequence == 1)
    for number in 0..<600 { try store.put("key \(number % 100)", [1]) }
    walk = try Self.walk(disk, store.store.header.salt)
    #expect(walk.plan.provenCommitEnd.sequence == 1 && walk.plan.firstUnproven == place.lastFrameOffset)
    try store.store.syncWritten()
    for number in 0..<600 { try store.put("key \(number % 100)", [1]) }
    walk = try Self.walk(disk, store.store.header.salt)
    #expect(walk.plan.provenCommitEnd.sequence == 601 && walk.plan.lastSequence == 1201)
    #expect(walk.plan.firstUnproven == walk.plan.provenEnd.offset && walk.plan.provenEnd.sequence == 601)
    try store.close()
  }

  @Test("commits at the relaxed level become durable at intervals where the system has no thread for that")
  func relaxedWithoutThread() throws {
    let disk = SimulatedDisk(seed: 3, maximumFileByteCount: 64 << 20)
    var options = StoreOptions.small()
    options.durability = .relaxed
    options.minimumLogBudgetByteCount = 1 << 30
    options.maximumLogBudgetByteCount = 1 << 30
    options.hasBackgroundThread = true
    let store = try KeyValueStore("a", disk: disk, options: options)
    store.store.maintenance?.stop()
    store.store.maintenance = nil
    func survives(_ key: String) throws -> Bool {
      let image = try KeyValueStore("a", disk: disk.crashed(seed: 1, policy: .none), options: StoreOptions.small())
      defer { try? image.close() }
      return try image.value(key) != nil
    }
    // More than a second has gone by since the last sync, which never was.
    try store.put("first", [1])
    #expect(try survives("first"))
    let piece = [UInt8](repeating: 7, count: 1 << 20)
    for number in 0..<20 { try store.put("piece \(number)", piece) }
    // All but the last 16 MB and the piece that goes beyond.
    #expect(try survives("piece 2"))
    try store.close()
  }
}
