import Foundation
import Testing

@testable import DaybookEngine

@Suite("names of what is being made")
struct UnfinishedNameTests {
  @Test("files and folders are made beside one who removes what others have left unfinished")
  func besideCollector() throws {
    try DiskKind.system.use { disk, directory in
      let folder = try disk.folder(at: directory)
      let attributes = try folder.attributes()
      let isDone = Locked(false)
      let collector = try #require(
        BackgroundThread(name: "collector") {
          while !isDone.withLock({ $0 }) { folder.removeUnfinishedNames(ownedBy: .ofUser(andOf: attributes)) }
        })
      defer {
        isDone.withLock { $0 = true }
        collector.join()
      }
      for number in 0..<2000 {
        try folder.create("file-\(number)", byteCount: nil, like: attributes).close()
        if number % 8 == 0 { _ = try folder.makeFolder("folder-\(number)", like: attributes) }
        try folder.remove("file-\(number)")
      }
      #expect(try folder.entries().count(where: \.isDirectory) == 250)
    }
  }

  @Test("what cannot be made is not tried for ever")
  func gone() throws {
    try DiskKind.system.use { disk, directory in
      let folder = try disk.folder(at: directory)
      let attributes = try folder.attributes()
      let inner = try folder.makeFolder("inner", like: attributes)
      try folder.removeFolder("inner")
      for _ in 0..<2 {
        let failure = #expect(throws: DiskFailure.self) { _ = try inner.create("a", byteCount: nil, like: attributes) }
        #expect(failure?.kind == .notFound)
      }
      #expect(throws: DiskFailure.self) { _ = try inner.makeFolder("a", like: attributes) }
    }
  }
}
