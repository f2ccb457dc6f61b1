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

  @Test("a leftover that is another name of a database is not written to")
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
    let second = try KeyValueStore(directory + "/b", disk: disk, options: .small())
    try second.close()
    #expect(try Data(contentsOf: URL(filePath: directory + "/a")) == before)
    #expect(try disk.identity(of: directory + "/a") != disk.identity(of: directory + "/b"))
    #expect(try !disk.exists(directory + "/b.new"))
  }
}
