import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// The folder of one database's contents under the name of another's: whoever may rename in the directory above put it there.
@Suite("moved folders of assets")
struct MovedFolderTests {
  private static func keepsMarks(_ folder: TemporaryFolder) throws -> Bool {
    let place = folder.file("probe")
    try SystemDisk().makePrivateDirectory(place)
    var attributes = try SystemDisk().attributes(of: place)
    attributes.extended[AssetStore.markName] = [1]
    try? SystemDisk().setAttributes(attributes, of: place)
    return try SystemDisk().attributes(of: place).extended[AssetStore.markName] == [1]
  }

  @Test("a collection empties no folder of another database that has the name of its own")
  func moved() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    guard try Self.keepsMarks(folder) else { return }
    let (a, b) = (try Database.withFiles(at: folder.file("a")), try Database.withFiles(at: folder.file("b")))
    try b.put("one", asset: Asset(data: AssetBench.content(1)))
    try a.put("plain")
    for hasOwn in [false, true] {
      if hasOwn {
        try a.put("own", asset: Asset(data: AssetBench.content(2)))
        try FileManager.default.moveItem(atPath: folder.file("a.assets"), toPath: folder.file("away"))
      }
      try FileManager.default.moveItem(atPath: folder.file("b.assets"), toPath: folder.file("a.assets"))
      let error = failure { try a.collectAssets(grace: .zero) }
      #expect(error?.code == .badDatabase && error?.facts.path == folder.file("a.assets"), "\(String(describing: error))")
      try FileManager.default.moveItem(atPath: folder.file("a.assets"), toPath: folder.file("b.assets"))
      if hasOwn { try FileManager.default.moveItem(atPath: folder.file("away"), toPath: folder.file("a.assets")) }
      try b.expectClean()
    }
    #expect(try a.collectAssets(grace: .zero).keptCount == 1)
    #expect(try b.collectAssets(grace: .zero).keptCount == 1)
    try a.close()
    try b.close()
  }

  @Test("copies, and databases that are made anew, collect in their own folders, and in those that they find")
  func ownFolders() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let database = try Database.withFiles(at: folder.file("a"))
    try database.put("one", asset: Asset(data: AssetBench.content(1)))
    try database.backup(to: folder.file("copy"))
    try database.compact()
    #expect(try database.collectAssets(grace: .zero).keptCount == 1)
    try database.close()
    try Database.salvage(from: folder.file("a"), to: folder.file("saved"))
    // Over the folder of a database that is gone.
    try FileManager.default.removeItem(atPath: folder.file("saved"))
    try Database.salvage(from: folder.file("a"), to: folder.file("saved"))
    for name in ["copy", "saved"] {
      let copy = try Database.withFiles(at: folder.file(name))
      #expect(try copy.collectAssets(grace: .zero).keptCount == 1)
      try copy.close()
      try FileManager.default.removeItem(atPath: folder.file(name))
      let again = try Database.withFiles(at: folder.file(name))
      #expect(try again.collectAssets(grace: .zero).removedCount == 1)
      try again.close()
    }
  }
}
