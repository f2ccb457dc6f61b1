import DaybookEngine
import DaybookTesting
import Foundation
import Testing

/// Creating a database while others do the same, or after a creation that was cut short.
@Suite("Creating a store")
struct CreateTests {
  @Test("a file that takes the name in the last moment is not replaced")
  func nameTakenMeanwhile() throws {
    let disk = SimulatedDisk(seed: 1)
    disk.observe { call in
      if call.operation == .rename { disk.install([1, 2, 3], at: "/d/a") }
    }
    do {
      try Store.create("/d/a", disk: disk, options: .small())
      Issue.record("the name was taken")
    } catch .disk(let failure) {
      #expect(failure.kind == .exists)
    }
    #expect(disk.bytes(of: "/d/a") == [1, 2, 3])
    #expect(disk.paths == ["/d/a"])
  }

  @Test("a creation that died at any call is done again", arguments: 1...8)
  func leftover(call: Int) throws {
    let disk = SimulatedDisk(seed: 1)
    disk.stop(atCall: call)
    try? Store.create("/d/a", disk: disk, options: .small())
    for next in [disk.killed(), disk.crashed(seed: 1, policy: .none), disk.crashed(seed: 1, policy: .all)] {
      if next.bytes(of: "/d/a") == nil { try Store.create("/d/a", disk: next, options: .small()) }
      try KeyValueStore("/d/a", disk: next, options: .small()).close()
    }
  }

  @Test("a creator whose temporary file was taken for a leftover does not pass off another's unfinished one as its own")
  func stolenLeftover() throws {
    let simulated = SimulatedDisk(seed: 1)
    let rival = Locked<(any DiskFile)?>(nil)
    let disk = HookedDisk(simulated) { (path) throws(DiskFailure) in
      // Before we hold the lock, one creator removes our file, and another makes its own.
      let remover = try simulated.open(path, .readWrite)
      defer { remover.close() }
      guard try remover.tryLock(.writer, .exclusive) else { return }
      try simulated.remove(path)
      let other = try simulated.open(path, .createNew)
      _ = try other.tryLock(.writer, .exclusive)
      rival.withLock { $0 = other }
    }
    #expect(thrownCase { try Store.create("/d/a", disk: disk, options: .small()) } == "locked")
    #expect(simulated.paths == ["/d/a.new"])
    // The other one dies; what it left is no obstacle.
    rival.withLock { $0?.close() }
    try KeyValueStore("/d/a", disk: simulated, options: .small()).close()
    #expect(simulated.paths == ["/d/a"])
  }

  @Test("what recovery shows survives, also in a file whose creator died before its name was on the disk")
  func nameAfterRecovery() throws {
    var disk = SimulatedDisk(seed: 1, maximumFileByteCount: 1 << 20)
    disk.inject(SimulatedFault([.syncDirectory], call: 1))
    #expect(thrownCase { try Store.create("/d/a", disk: disk, options: .small()) } == "disk")
    // The next one gets no further while the name is not on the disk.
    disk = disk.killed()
    disk.inject(SimulatedFault([.syncDirectory], call: 1))
    let first = try KeyValueStore("/d/a", disk: disk, options: .withoutCheckpoints())
    #expect(thrownCase { try first.put("key", [0]) } == "outcomeUnknown")
    #expect(try frames(of: disk.bytes(of: "/d/a") ?? []).isEmpty)
    // Another writes a commit, and dies before it can sync that.
    disk = disk.killed()
    disk.inject(SimulatedFault([.sync], call: 1))
    let writer = try KeyValueStore("/d/a", disk: disk, options: .withoutCheckpoints())
    #expect(thrownCase { try writer.put("key", [1]) } == "outcomeUnknown")
    disk = disk.killed()
    let recovered = try KeyValueStore("/d/a", disk: disk, options: .withoutCheckpoints())
    #expect(try recovered.contents() == ["key": [1]])
    try recovered.put("next", [2])
    let after = try KeyValueStore("/d/a", disk: disk.crashed(seed: 1, policy: .none), options: .small())
    #expect(try after.contents() == ["key": [1], "next": [2]])
  }

  @Test("a name NAME.new that is another name of a database elsewhere is not written to, and stays")
  func leftoverWithTwoNames() throws {
    let directory = NSTemporaryDirectory() + "/daybook-create-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let disk = SystemDisk()
    let first = try KeyValueStore(directory + "/a", disk: disk, options: .small())
    try first.write { try $0.put("key", [1]) }
    try first.close()
    let before = try Data(contentsOf: URL(filePath: directory + "/a"))
    // A rename that died between its two names, and a database that was then moved away.
    try FileManager.default.linkItem(atPath: directory + "/a", toPath: directory + "/b.new")
    // A snapshot by links looks the same.
    #expect(throws: StoreError.self) { try KeyValueStore(directory + "/b", disk: disk, options: .small()) }
    #expect(try Data(contentsOf: URL(filePath: directory + "/a")) == before)
    #expect(try disk.identity(of: directory + "/a") == disk.identity(of: directory + "/b.new"))
    // Without it NAME is free.
    try FileManager.default.removeItem(atPath: directory + "/b.new")
    let second = try KeyValueStore(directory + "/b", disk: disk, options: .small())
    try second.close()
  }
}

/// A disk that does something behind everybody's back when a file was made, once.
private final class HookedDisk: ForwardingDisk {
  let disk: SimulatedDisk
  private let hook: Locked<(@Sendable (String) throws(DiskFailure) -> Void)?>

  init(_ disk: SimulatedDisk, afterCreating hook: @escaping @Sendable (String) throws(DiskFailure) -> Void) {
    self.disk = disk
    self.hook = Locked(hook)
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    let file = try disk.open(path, mode)
    guard mode == .createNew else { return file }
    let hook = hook.withLock { hook in
      defer { hook = nil }
      return hook
    }
    try hook?(path)
    return file
  }

  func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile { try open(path, .createNew) }
}
