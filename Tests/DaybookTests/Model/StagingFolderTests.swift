import DaybookEngine
import Foundation
import Testing

@testable import Daybook

@Suite("folders for files that are handed out")
struct StagingFolderTests {
  private func mode(_ url: URL) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int)
  }

  @Test(
    "a decoded file is this user's alone, and a link in the place of its folder gets nothing", arguments: [nil, "dune.json"])
  func swapped(name: String?) throws {
    let folder = try TemporaryFolder()
    let directory = URL(filePath: folder.file("decoded"))
    let first = try StagedFiles.newFile(Data("a".utf8), name: name, in: directory)
    #expect(try mode(first) == 0o600 && Data(contentsOf: first) == Data("a".utf8))
    #expect(try mode(first.deletingLastPathComponent()) == 0o700)
    if let name { #expect(first.lastPathComponent == name) }
    let second = try StagedFiles.newFile(Data("b".utf8), name: name, in: directory)
    #expect(second != first)
    let made = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(made.count == 1)
    // A user who may rename there puts a link to a folder of his own in its place.
    let strangers = folder.file("stranger")
    try FileManager.default.createDirectory(atPath: strangers, withIntermediateDirectories: false)
    let place = directory.appending(path: made[0]).path
    try FileManager.default.moveItem(atPath: place, toPath: place + "-moved")
    try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: strangers)
    let third = try StagedFiles.newFile(Data("c".utf8), name: name, in: directory)
    #expect(try Data(contentsOf: third) == Data("c".utf8) && !third.path.hasPrefix(place))
    #expect(try FileManager.default.contentsOfDirectory(atPath: strangers) == [])
  }

  @Test("files that were handed out go with the folder's owner")
  func removed() throws {
    let folder = try TemporaryFolder()
    var staging: StagingFolder? = try StagingFolder(in: folder.path)
    let url = try #require(try staging?.newFile(Data([1]), name: "a"))
    _ = try staging?.newFile(Data([2]))
    #expect(FileManager.default.fileExists(atPath: url.path))
    staging = nil
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  #if !os(iOS)
    @Test("decoded files are gone when the program has ended")
    func processEnd() async throws {
      let folder = try TemporaryFolder()
      await #expect(processExitsWith: .success) { [path = folder.path as String] in
        for name in ["a", nil] { _ = try StagedFiles.newFile(Data([1]), name: name, in: URL(filePath: path)) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).count == 1)
        exit(0)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }
  #endif
}
