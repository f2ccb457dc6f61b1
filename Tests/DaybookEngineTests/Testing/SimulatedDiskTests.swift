import DaybookEngine
import DaybookTesting
import Testing

private func write(_ bytes: [UInt8], to file: any DiskFile, at offset: Int) throws(DiskFailure) {
  let buffer = ByteBuffer(capacity: max(16, bytes.count))
  buffer.append(bytes)
  try file.write(buffer.view, at: offset)
}

private func filled(_ byte: UInt8, _ byteCount: Int) -> [UInt8] { [UInt8](repeating: byte, count: byteCount) }

/// A disk with one durable file of ones, 10 sectors long, open for writing.
private func preparedDisk(seed: UInt64 = 1) throws -> (disk: SimulatedDisk, file: any DiskFile) {
  let disk = SimulatedDisk(seed: seed)
  disk.install(filled(1, 5120), at: "/d/a")
  return (disk, try disk.open("/d/a", .readWrite))
}

@Suite("The simulated disk")
struct SimulatedDiskTests {
  @Test("what was synced survives power loss, what was not does not have to")
  func syncedSurvives() throws {
    let (disk, file) = try preparedDisk()
    try write(filled(2, 512), to: file, at: 0)
    try file.sync(.full)
    try write(filled(3, 1024), to: file, at: 512)
    try write(filled(4, 512), to: file, at: 5120)
    #expect(disk.bytes(of: "/d/a") == filled(2, 512) + filled(3, 1024) + filled(1, 3584) + filled(4, 512))
    let none = disk.crashed(seed: 1, policy: .none)
    #expect(none.bytes(of: "/d/a") == filled(2, 512) + filled(1, 4608))
    let all = disk.crashed(seed: 1, policy: .all)
    #expect(all.bytes(of: "/d/a") == disk.bytes(of: "/d/a"))
    #expect(!all.hasPendingChanges)
    #expect(disk.hasPendingChanges)
  }

  @Test("a new directory is lost with the power until the one above it was synced, and all that it holds with it")
  func directoriesAreLost() throws {
    let disk = SimulatedDisk(seed: 1)
    try disk.makeDirectory("d")
    try disk.makeDirectory("d/e")
    let file = try disk.open("d/e/a", .createNew)
    try write(filled(1, 10), to: file, at: 0)
    try file.sync(.full)
    try disk.link("d/e/a", to: "d/b")
    func paths() -> [String] { disk.crashed(seed: 1, policy: .none).paths }
    try disk.syncDirectory(holding: "d/e/a")
    #expect(paths() == [])
    try disk.syncDirectory(holding: "d/e")
    #expect(paths() == [])
    try disk.syncDirectory(holding: "d")
    #expect(paths() == ["d/b", "d/e/a"])
    #expect(disk.crashed(seed: 1, policy: .none).bytes(of: "d/b") == filled(1, 10))
    // Each by itself, in any combination: what is in a directory needs the directory.
    let fresh = SimulatedDisk(seed: 2)
    try fresh.makeDirectory("d")
    _ = try fresh.open("d/a", .createNew)
    let images = Set(
      (0..<40).map { fresh.crashed(seed: $0, policy: .random) }.map { image in
        "\(image.paths) \((try? image.exists("d")) == true)"
      })
    #expect(images == ["[] false", "[] true", "[\"d/a\"] true"])
  }

  @Test("what was pending in a directory that is gone never comes back into another of its name")
  func removedDirectory() throws {
    let disk = SimulatedDisk(seed: 1)
    disk.install([1], at: "d/a")
    disk.install([2], at: "new/a")
    try disk.remove("d/a")
    try disk.removeDirectory("d")
    try disk.rename("new", to: "d")
    try disk.syncDirectory(holding: "d")
    for seed in 0..<20 as Range<UInt64> {
      let image = disk.crashed(seed: seed, policy: .random)
      #expect(image.bytes(of: "d/a") == [2] && image.paths == ["d/a"])
    }
    #expect(disk.killed().bytes(of: "d/a") == [2])
    #expect(disk.killed().crashed(seed: 1, policy: .none).bytes(of: "d/a") == [2])
  }

  @Test("each sector survives or not on its own, in every combination")
  func anySubset() throws {
    let (disk, file) = try preparedDisk()
    try write(filled(2, 1536), to: file, at: 512)
    var seen: Set<[UInt8]> = []
    for seed in 0..<300 as Range<UInt64> {
      let policy = CrashPolicy(sectors: .random, sizes: .random, names: .random)
      let bytes = try #require(disk.crashed(seed: seed, policy: policy).bytes(of: "/d/a"))
      let sectors = (0..<10).map { Set(bytes[$0 * 512..<$0 * 512 + 512]) }
      #expect(sectors.allSatisfy { $0.count == 1 }, "no sector is torn")
      seen.insert(sectors.map { $0.first ?? 0 })
    }
    #expect(seen.count == 8)
  }

  @Test("a torn sector mixes old bytes and new ones, and nothing else")
  func tornSector() throws {
    let (disk, file) = try preparedDisk()
    try write(filled(2, 512), to: file, at: 1024)
    var mixtureCount = 0
    for seed in 0..<50 as Range<UInt64> {
      let policy = CrashPolicy(sectors: .none, sizes: .all, names: .all, tearsSector: true)
      let bytes = try #require(disk.crashed(seed: seed, policy: policy).bytes(of: "/d/a"))
      #expect(Set(bytes).isSubset(of: [1, 2]))
      #expect(bytes[..<1024].allSatisfy { $0 == 1 } && bytes[1536...].allSatisfy { $0 == 1 })
      if Set(bytes[1024..<1536]).count == 2 { mixtureCount += 1 }
    }
    #expect(mixtureCount > 40)
  }

  @Test("a size that a truncate gave arrives whole or not at all, and one that writes gave also in part")
  func sizesOfTruncates() throws {
    let disk = SimulatedDisk(seed: 5)
    let file = try disk.open("/a", .createNew)
    try [UInt8](repeating: 1, count: 100).withView { (view: ByteView) throws -> Void in try file.write(view, at: 0) }
    try file.sync(.full)
    try disk.syncDirectory(holding: "/a")
    try file.truncate(to: 4096)
    try [UInt8](repeating: 2, count: 1000).withView { (view: ByteView) throws -> Void in try file.write(view, at: 4096) }
    var sizes: Set<Int> = []
    for seed in 0..<400 as Range<UInt64> {
      let policy = CrashPolicy(sectors: .random, sizes: .random, names: .all)
      sizes.insert(try #require(disk.crashed(seed: seed, policy: policy).bytes(of: "/a")).count)
    }
    #expect(sizes.isSuperset(of: [100, 4096, 5096]) && sizes.contains { 4097..<5096 ~= $0 })
    #expect(!sizes.contains { 101..<4096 ~= $0 })
  }

  @Test("space that was not written holds zeros or garbage after the size arrived without the bytes")
  func unwrittenSpace() throws {
    let (disk, file) = try preparedDisk()
    try write(filled(2, 1000), to: file, at: 5120)
    var policy = CrashPolicy(sectors: .none, sizes: .all, names: .all, unwritten: .zeros)
    #expect(disk.crashed(seed: 1, policy: policy).bytes(of: "/d/a") == filled(1, 5120) + filled(0, 1000))
    policy.unwritten = .garbage
    let garbage = try #require(disk.crashed(seed: 1, policy: policy).bytes(of: "/d/a"))
    #expect(garbage.count == 6120)
    #expect(Set(garbage[5120...]).count > 100)
    policy = CrashPolicy(sectors: .all, sizes: .none, names: .all)
    #expect(disk.crashed(seed: 1, policy: policy).bytes(of: "/d/a") == filled(1, 5120))
  }

  @Test("a file cut without a sync may come back whole; with a sync it stays cut")
  func truncated() throws {
    let (disk, file) = try preparedDisk()
    try file.truncate(to: 700)
    #expect(disk.crashed(seed: 1, policy: .none).bytes(of: "/d/a") == filled(1, 5120))
    #expect(disk.crashed(seed: 1, policy: .all).bytes(of: "/d/a") == filled(1, 700))
    try file.sync(.full)
    #expect(disk.crashed(seed: 1, policy: .none).bytes(of: "/d/a") == filled(1, 700))
    try file.truncate(to: 5120)
    #expect(disk.bytes(of: "/d/a") == filled(1, 700) + filled(0, 4420))
  }

  @Test("names survive with their directory's sync only, a rename as a whole")
  func names() throws {
    let disk = SimulatedDisk(seed: 1)
    disk.install([1], at: "/d/a")
    let new = try disk.open("/d/b", .createNew)
    try write([2], to: new, at: 0)
    try new.sync(.full)
    #expect(disk.crashed(seed: 1, policy: .none).paths == ["/d/a"])
    try disk.syncDirectory(holding: "/d/b")
    #expect(disk.crashed(seed: 1, policy: .none).paths == ["/d/a", "/d/b"])
    try disk.rename("/d/b", to: "/d/a")
    #expect(disk.paths == ["/d/a"])
    let before = disk.crashed(seed: 1, policy: .none)
    #expect(before.paths == ["/d/a", "/d/b"])
    #expect(before.bytes(of: "/d/a") == [1])
    try disk.syncDirectory(holding: "/other/x")
    #expect(disk.crashed(seed: 1, policy: .none).paths == ["/d/a", "/d/b"])
    try disk.syncDirectory(holding: "/d/b")
    let after = disk.crashed(seed: 1, policy: .none)
    #expect(after.paths == ["/d/a"])
    #expect(after.bytes(of: "/d/a") == [2])
  }

  @Test("a rename without replacing survives with the directory's sync only, as a whole")
  func renameWithoutReplacing() throws {
    let disk = SimulatedDisk(seed: 1)
    disk.install([1], at: "/d/a")
    disk.install([2], at: "/d/b")
    #expect(throws: DiskFailure.self) { try disk.renameWithoutReplacing("/d/b", to: "/d/a") }
    try disk.renameWithoutReplacing("/d/b", to: "/d/c")
    #expect(disk.paths == ["/d/a", "/d/c"])
    #expect(disk.crashed(seed: 1, policy: .none).paths == ["/d/a", "/d/b"])
    for seed in 0..<20 as Range<UInt64> {
      let paths = disk.crashed(seed: seed, policy: .random).paths
      #expect(paths == ["/d/a", "/d/b"] || paths == ["/d/a", "/d/c"])
    }
    try disk.syncDirectory(holding: "/d/c")
    #expect(disk.crashed(seed: 1, policy: .none).paths == ["/d/a", "/d/c"])
    disk.inject(SimulatedFault([.rename], call: 1))
    #expect(throws: DiskFailure.self) { try disk.renameWithoutReplacing("/d/c", to: "/d/b") }
    #expect(disk.paths == ["/d/a", "/d/c"])
  }

  @Test("after a kill everything is there, and still pending")
  func killed() throws {
    let (disk, file) = try preparedDisk()
    try write(filled(2, 512), to: file, at: 0)
    #expect(try file.tryLock(.writer, .exclusive))
    let next = disk.killed()
    #expect(next.bytes(of: "/d/a") == disk.bytes(of: "/d/a"))
    #expect(next.crashed(seed: 1, policy: .none).bytes(of: "/d/a") == filled(1, 5120))
    let again = try next.open("/d/a", .readWrite)
    #expect(try again.tryLock(.writer, .exclusive), "locks die with the process")
    try again.sync(.full)
    #expect(next.crashed(seed: 1, policy: .none).bytes(of: "/d/a") == disk.bytes(of: "/d/a"))
  }

  @Test("a failed sync is reported once to each description, and what it lost stays lost")
  func failedSync() throws {
    let (disk, file) = try preparedDisk()
    let other = try disk.open("/d/a", .readWrite)
    try write(filled(2, 512), to: file, at: 0)
    disk.inject(SimulatedFault([.sync], call: 1))
    #expect(throws: DiskFailure.self) { try file.sync(.full) }
    try file.sync(.full)
    #expect(disk.bytes(of: "/d/a")?.first == 2, "the cache still shows the new bytes")
    #expect(disk.crashed(seed: 1, policy: .none).bytes(of: "/d/a") == filled(1, 5120))
    #expect(disk.crashed(seed: 1, policy: .all).bytes(of: "/d/a") == filled(1, 5120))
    #expect(throws: DiskFailure.self) { try other.sync(.full) }
    try other.sync(.full)
    let late = try disk.open("/d/a", .readWrite)
    try late.sync(.full)
    // Written once more, it is pending like any other write.
    try write(filled(3, 512), to: file, at: 0)
    #expect(disk.crashed(seed: 1, policy: .none).bytes(of: "/d/a") == filled(1, 5120))
    try file.sync(.full)
    #expect(disk.crashed(seed: 1, policy: .none).bytes(of: "/d/a") == filled(3, 512) + filled(1, 4608))
  }

  @Test("a failed sync may also drop the pages")
  func failedSyncDroppingPages() throws {
    let (disk, file) = try preparedDisk()
    try write(filled(2, 512), to: file, at: 0)
    disk.inject(SimulatedFault([.sync], call: 1, syncLoss: .dropsPages))
    #expect(throws: DiskFailure.self) { try file.sync(.full) }
    #expect(disk.bytes(of: "/d/a") == filled(1, 5120))
  }

  @Test("the k-th call fails with its number, once or for ever")
  func faults() throws {
    let (disk, file) = try preparedDisk()
    disk.inject(SimulatedFault([.write], call: 2, code: ErrorNumber.noSpace, leavesPartOfWrite: false))
    try write([9], to: file, at: 0)
    do {
      try write([9, 9], to: file, at: 7)
      Issue.record("the second write fails")
    } catch {
      #expect(error.kind == .full)
      #expect(error.operation == .write)
      #expect(error.offset == 7)
      #expect(error.byteCount == 2)
    }
    #expect(disk.bytes(of: "/d/a")?[7] == 1)
    try write([9], to: file, at: 0)
    disk.inject(SimulatedFault([.truncate], call: 1, repeats: true))
    for _ in 0..<3 { #expect(throws: DiskFailure.self) { try file.truncate(to: 0) } }
    disk.removeFaults()
    try file.truncate(to: 0)
  }

  @Test("a full disk takes what fits and says so, and has room again after a cut")
  func fullDisk() throws {
    let (disk, file) = try preparedDisk()
    disk.limit(toByteCount: 6000)
    do {
      try write(filled(2, 2000), to: file, at: 5000)
      Issue.record("the disk is full")
    } catch {
      #expect(error.kind == .full)
    }
    #expect(disk.bytes(of: "/d/a")?.count == 6000)
    try write(filled(3, 6000), to: file, at: 0)
    try file.truncate(to: 10)
    try write(filled(2, 2000), to: file, at: 10)
  }

  @Test("a stopped disk throws for ever and changes no more")
  func stopped() throws {
    let disk = SimulatedDisk(seed: 1)
    disk.stop(atCall: 3)
    let file = try disk.open("/a", .createNew)
    try write([1], to: file, at: 0)
    #expect(!disk.isStopped)
    #expect(throws: DiskFailure.self) { try write([2], to: file, at: 0) }
    #expect(disk.isStopped)
    #expect(throws: DiskFailure.self) { try file.sync(.full) }
    #expect(throws: DiskFailure.self) { try disk.exists("/a") }
    #expect(disk.callCount == 3)
    #expect(disk.bytes(of: "/a") == [1])
    file.unlock(.writer)
    file.close()
  }

  @Test("a write that is torn by a kill leaves a front of its bytes")
  func tornWrite() throws {
    var lengths: Set<Int> = []
    for seed in 0..<200 as Range<UInt64> {
      let disk = SimulatedDisk(seed: seed)
      disk.stop(atCall: 2, tearsWrite: true)
      let file = try disk.open("/a", .createNew)
      #expect(throws: DiskFailure.self) { try write(filled(7, 9), to: file, at: 0) }
      let bytes = try #require(disk.killed().bytes(of: "/a"))
      #expect(bytes.allSatisfy { $0 == 7 })
      lengths.insert(bytes.count)
    }
    #expect(lengths == Set(0...9))
  }

  @Test("an observer sees each change before it happens, and may make images")
  func observer() throws {
    let disk = SimulatedDisk(seed: 1)
    let seen = Locked<[String]>([])
    disk.startTrace()
    disk.observe { call in
      let size = disk.crashed(seed: 1, policy: .all).bytes(of: "/a")?.count ?? -1
      seen.withLock { $0.append("\(call.number) \(call.operation) \(size)") }
    }
    let file = try disk.open("/a", .createNew)
    try write([1, 2], to: file, at: 0)
    _ = try file.byteCount()
    try file.sync(.full)
    disk.observe(nil)
    #expect(seen.withLock { $0 } == ["1 create -1", "2 write 0", "3 sync 2"])
    #expect(disk.trace.map(\.operation) == [.create, .write, .status, .sync])
    #expect(disk.trace.map(\.number) == [1, 2, 2, 3])
  }

  @Test("a corrupt byte is corrupt in the cache and on the disk")
  func corrupt() throws {
    let (disk, file) = try preparedDisk()
    try write(filled(2, 512), to: file, at: 0)
    #expect(disk.corrupt("/d/a", at: 5, mask: 0x80))
    #expect(disk.bytes(of: "/d/a")?[5] == 0x82)
    #expect(disk.crashed(seed: 1, policy: .none).bytes(of: "/d/a")?[5] == 0x81)
    #expect(!disk.corrupt("/d/a", at: 5120))
  }

  @Test("mapping beyond the end of the file is refused")
  func mapBeyondEnd() throws {
    let (_, file) = try preparedDisk()
    try file.map(upTo: 5120)
    #expect(throws: DiskFailure.self) { try file.map(upTo: 5121) }
  }

  /// The naive twin: for each byte of the file the set of values that power loss may leave.
  private struct Model {
    var now: [UInt8] = []
    var durable: [UInt8] = []
    /// For each sector written since the last sync: all contents of it are explained by old and new bytes.
    var pending: Set<Int> = []
  }

  @Test("random writes, cuts and syncs: an image has old or new bytes only", arguments: 0..<60 as Range<UInt64>)
  func againstModel(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let sector = 64
    let disk = SimulatedDisk(seed: seed, sectorByteCount: sector, maximumFileByteCount: 1 << 16)
    let file = try disk.open("/a", .createNew)
    try disk.syncDirectory(holding: "/a")
    var model = Model()
    for step in 0..<120 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<6:
        let offset = Int.random(in: 0...model.now.count, using: &generator)
        let byteCount = Int.random(in: 1...300, using: &generator)
        try write(filled(UInt8(step + 1), byteCount), to: file, at: offset)
        let end = offset + byteCount
        if model.now.count < end { model.now += filled(0, end - model.now.count) }
        model.now.replaceSubrange(offset..<end, with: filled(UInt8(step + 1), byteCount))
        for touched in offset / sector...(end - 1) / sector { model.pending.insert(touched) }
      case 6:
        let byteCount = Int.random(in: 0...model.now.count, using: &generator)
        try file.truncate(to: byteCount)
        for touched in byteCount / sector...max(model.now.count, model.durable.count) / sector {
          model.pending.insert(touched)
        }
        model.now.removeLast(model.now.count - byteCount)
      case 7:
        try file.sync(.full)
        model.durable = model.now
        model.pending = []
      default:
        #expect(disk.bytes(of: "/a") == model.now)
        #expect(disk.crashed(seed: 0, policy: .all).bytes(of: "/a") == model.now)
        #expect(disk.crashed(seed: 0, policy: .none).bytes(of: "/a") == model.durable)
        let imageSeed = generator.next()
        let policy = CrashPolicy(sectors: .random, sizes: .random, names: .random, tearsSector: true, unwritten: .zeros)
        let bytes = try #require(disk.crashed(seed: imageSeed, policy: policy).bytes(of: "/a"))
        #expect(bytes == disk.crashed(seed: imageSeed, policy: policy).bytes(of: "/a"), "the seed decides")
        let sizes = min(model.now.count, model.durable.count)...max(model.now.count, model.durable.count)
        #expect(sizes.contains(bytes.count))
        for (offset, byte) in bytes.enumerated() {
          let new = offset < model.now.count ? model.now[offset] : 0
          let old = offset < model.durable.count ? model.durable[offset] : 0
          let isPending = model.pending.contains(offset / sector)
          let isExplained = byte == new || (isPending && (byte == old || byte == 0))
          if !isExplained { Issue.record("byte \(offset) is \(byte), not \(old) or \(new), seed \(seed) step \(step)") }
        }
      }
    }
  }

  @Test("unwritten space may hold the blocks of a file that was there before")
  func recycledBlocks() throws {
    let (disk, file) = try preparedDisk()
    disk.recycle(filled(9, 8192))
    try write(filled(2, 1024), to: file, at: 5120)
    var places: Set<[UInt8]> = []
    for seed in 0..<20 as Range<UInt64> {
      let policy = CrashPolicy(sectors: .none, sizes: .all, names: .all, unwritten: .recycled)
      let bytes = try #require(disk.crashed(seed: seed, policy: policy).bytes(of: "/d/a"))
      #expect(bytes[..<5120].elementsEqual(filled(1, 5120)), "what was written before stays")
      places.insert(Array(bytes[5120...]))
    }
    #expect(places == [filled(9, 1024)])
  }

  @Test("every choice among what is pending is an image of its own, pages count as one")
  func choices() throws {
    let (disk, file) = try preparedDisk()
    try write(filled(2, 1024), to: file, at: 512)
    try write(filled(3, 4096), to: file, at: 8192)
    let pending = disk.pendingChanges
    #expect(pending == PendingChanges(unitCount: 3, nameCount: 0, hasSizes: true))
    var fingerprints: Set<UInt64> = []
    for units in 0..<8 {
      let choice = CrashChoice(units: NumberSet(bits: UInt64(units)), names: [], seed: 1)
      let image = disk.crashed(choice)
      fingerprints.insert(image.fingerprint)
      let bytes = try #require(image.bytes(of: "/d/a"))
      #expect(bytes[512] == (units & 1 != 0 ? 2 : 1) && bytes[1024] == (units & 2 != 0 ? 2 : 1))
      #expect(bytes[8192...].elementsEqual(filled(units & 4 != 0 ? 3 : 0, 4096)))
      #expect(image.fingerprint == disk.crashed(choice).fingerprint)
    }
    #expect(fingerprints.count == 8)
  }

  @Test("a lost write is there until the power fails; a misdirected one lies elsewhere")
  func lies() throws {
    let (disk, file) = try preparedDisk()
    disk.inject(SimulatedLie(.loses, write: 1))
    disk.inject(SimulatedLie(.misdirects(sectorCount: 4), write: 2))
    try write(filled(2, 512), to: file, at: 0)
    try write(filled(3, 512), to: file, at: 512)
    try write(filled(4, 512), to: file, at: 1024)
    try file.sync(.full)
    #expect(disk.bytes(of: "/d/a")?[..<1024].elementsEqual(filled(2, 512) + filled(3, 512)) == true)
    let bytes = try #require(disk.crashed(seed: 1, policy: .all).bytes(of: "/d/a"))
    #expect(bytes == filled(1, 1024) + filled(4, 512) + filled(1, 1024) + filled(3, 512) + filled(1, 2048))
  }

  @Test("transfers in pieces, with interruptions between, move all bytes")
  func pieces() throws {
    let (disk, file) = try preparedDisk()
    disk.cutTransfers()
    for step in 0..<50 { try write(filled(UInt8(step), 300 + step), to: file, at: step * 90) }
    let expected = try #require(disk.bytes(of: "/d/a"))
    var received = [UInt8](repeating: 0, count: 6000)
    let count = try unsafe received.withUnsafeMutableBytes { buffer throws -> Int in
      // Safe: the buffer has as many bytes as are asked for.
      try unsafe file.read(into: try #require(buffer.baseAddress), count: 6000, at: 0)
    }
    #expect(count == expected.count && received[..<count].elementsEqual(expected))
    for step in 0..<50 {
      #expect(expected[step * 90..<step * 90 + 90].allSatisfy { $0 == UInt8(step) })
    }
  }

  @Test("a call that takes nothing and complains of nothing is an error, at the end of a file it is the end")
  func transferOfNothing() throws {
    var calls = 0
    #expect(throws: Transfer.Failure.self) {
      try Transfer.all(byteCount: 10) { (done) throws(SystemError) in
        calls += 1
        return done == 0 ? 4 : 0
      }
    }
    #expect(calls == 2)
    let moved = try Transfer.all(byteCount: 10, endsAtZero: true) { (done) throws(SystemError) in done == 0 ? 4 : 0 }
    #expect(moved == 4)
    do {
      try Transfer.all(byteCount: 10) { (done) throws(SystemError) in
        if done == 7 { throw SystemError(code: ErrorNumber.noSpace) }
        return 7
      }
      Issue.record("the second call fails")
    } catch {
      #expect(error.code == ErrorNumber.noSpace && error.doneByteCount == 7)
    }
  }

  @Test("a slow disk takes its time")
  func latency() throws {
    let (disk, file) = try preparedDisk()
    disk.delay(.sync, nanoseconds: 3_000_000)
    let start = SystemClock.monotonicNanoseconds()
    try file.sync(.full)
    #expect(SystemClock.monotonicNanoseconds() - start >= 3_000_000)
  }
}
