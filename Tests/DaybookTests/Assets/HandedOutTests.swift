import DaybookTesting
import Foundation
import Synchronization
import Testing

@testable import Daybook
@testable import DaybookEngine

// Copies of asset files that are handed out by a path, which others may lead elsewhere.

@Suite("contents that are handed out")
struct HandedOutTests {
  @Test("after a rename above the folder no other user's bytes are handed out as a content")
  func renamedAbove() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try FileManager.default.createDirectory(atPath: folder.file("home"), withIntermediateDirectories: false)
    let number = Atomic<UInt64>(1000)
    // A user who could reckon the numbers could put files under all names that come.
    let database = try Database.withFiles(at: folder.file("home/a.daybook")) { options in
      options.random = { number.wrappingAdd(1, ordering: .relaxed).newValue }
    }
    for index in 1...2 { try database.put("n\(index)", asset: Asset(data: AssetBench.content(index))) }
    func asset(_ name: String) throws -> Asset { try #require(try database.record(Record.ID(name))?["file"] as Asset?) }
    let (first, second) = (try asset("n1"), try asset("n2"))
    let known = try #require(first.fileURL).lastPathComponent
    let holder = try #require(known.split(separator: "-").dropFirst().first)
    try FileManager.default.moveItem(atPath: folder.file("home"), toPath: folder.file("gone"))
    let staged = folder.file("home/a.daybook.assets/staged")
    try FileManager.default.createDirectory(atPath: staged, withIntermediateDirectories: true)
    let planted = Data("what another user wants to be read".utf8)
    let next = number.load(ordering: .relaxed)
    for index in next...next + 50 {
      let name = "\(AssetBench.digest(AssetBench.content(2)).name)-\(holder)-\(hexDigits(index))"
      try planted.write(to: URL(filePath: staged + "/" + name))
    }
    let url = second.fileURL
    #expect(url.flatMap { try? Data(contentsOf: $0) } != planted)
    #expect(url == nil)
    #expect(try second.content() == AssetBench.content(2))
    // Nothing is left of the copy.
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.file("gone/a.daybook.assets/staged"))
    #expect(left == [known])
    try database.close()
  }
}
