import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Contents in a database that several users write to, and many of them at once: what belongs to another user may be read, but
// not linked everywhere, and what somebody else makes beside the contents may be closed to us.

@Suite("assets of several users, and many at once")
struct SharedAssetTests {
  private func opened(_ folder: TemporaryFolder, _ disk: HookedDisk) throws -> Database {
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.durability = .relaxed
    options.hasBackgroundThread = false
    return try Database.open(at: folder.file("a.daybook"), options: options, disk: disk)
  }

  @Test("hundreds of prepared assets, and a transaction with hundreds of new ones, keep one folder open and no more")
  func descriptors() throws {
    let folder = try TemporaryFolder()
    let disk = HookedDisk()
    let database = try opened(folder, disk)
    let before = disk.openFolderCount
    var held: [Asset] = []
    for number in 0..<200 { held.append(try database.prepare(Asset(data: AssetBench.content(number)))) }
    #expect(disk.openFolderCount <= before + 1)
    // Another folder has the name by now; what lies in the first one is held there.
    let (place, moved) = (folder.file("a.daybook.assets"), folder.file("moved"))
    try FileManager.default.moveItem(atPath: place, toPath: moved)
    for number in 0..<20 { held.append(try database.prepare(Asset(data: AssetBench.content(number)))) }
    #expect(disk.openFolderCount <= before + 2)
    for number in [0, 199, 200, 219] { #expect(try held[number].content() == AssetBench.content(number % 200)) }
    held = []
    #expect(disk.openFolderCount == before)
    for path in [place, moved] {
      let left = try FileManager.default.contentsOfDirectory(atPath: path)
      #expect(left.allSatisfy { $0.utf8.count == 2 }, "nothing is held: \(left)")
    }
    var inside = Int.max
    try database.write { transaction in
      for number in 0..<200 {
        var record = try Record.fresh("r\(number)")
        record["file"] = Asset(data: AssetBench.content(number + 1000))
        try transaction.save(record)
      }
      inside = disk.openFolderCount
    }
    #expect(inside <= before + 1 && disk.openFolderCount == before)
    try database.expectClean()
    try database.close()
  }
}
