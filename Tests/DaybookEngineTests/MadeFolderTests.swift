import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// Folders that are made where others may rename, and whose folders are kept in.

@Suite("folders that were just made")
struct MadeFolderTests {
  @Test("a private folder of ours that takes the place of one we have made keeps its rights, and is not used")
  func swapped() throws {
    try withDirectory { directory in
      let folder = try #require(try SystemDisk().folder(at: directory) as? SystemFolder)
      let secret = try folder.makeFolder("private", like: nil)
      _ = try secret.create("secret", byteCount: nil, like: nil)
      // What somebody does between the call that makes the folder and the one that opens it.
      try folder.rename("private", to: folder, "book.assets")
      do throws(DiskFailure) {
        _ = try folder.openMade("book.assets", like: FileAttributes(mode: 0o755))
        Issue.record("another folder passes for the one that was made")
      } catch { #expect(error.kind == .notRegular && error.path == folder.place("book.assets")) }
      #expect(try secret.attributes().mode & 0o777 == 0o700)
      // Nor does one that is there already, under the name itself.
      do throws(DiskFailure) {
        _ = try folder.makeFolder("book.assets", like: FileAttributes(mode: 0o755))
        Issue.record("a folder that was found passes for one that was made")
      } catch { #expect(error.kind == .exists && error.path == folder.place("book.assets")) }
      #expect(try secret.attributes().mode & 0o777 == 0o700)
      #expect(try folder.entries().map(\.name) == ["book.assets"])
      // One that was made gets its rights.
      #expect(try folder.makeFolder("other.assets", like: FileAttributes(mode: 0o750)).attributes().mode & 0o777 == 0o750)
    }
  }

  @Test("where a group may write, who is not in the group keeps nothing, and takes nothing away")
  func groups() throws {
    let shared = FileAttributes(mode: 0o660, owner: 1, group: 50)
    for owners in [FileOwners.ofWriters(of: shared), .trusted(with: shared), .ofWriters(of: shared).orOfSecondNames] {
      #expect(owners.contains(4712, group: 50))
      #expect(owners.contains(1, group: 7))
      #expect(owners.contains(geteuid(), group: 7))
      #expect(!owners.contains(4712, group: 7))
    }
    #expect(FileOwners.trusted(with: shared).contains(0, group: 7))
    // Nor does the group count where only its owner may write.
    #expect(!FileOwners.ofWriters(of: FileAttributes(mode: 0o640, owner: 1, group: 50)).contains(4712, group: 50))
    #expect(FileOwners.ofWriters(of: FileAttributes(mode: 0o666, owner: 1, group: 50)).contains(4712, group: 7))
    guard geteuid() == 0 else { return }
    try withDirectory { directory in
      let folder = try SystemDisk().folder(at: directory)
      let sub = try folder.makeFolder("book.assets", like: nil)
      #expect(unsafe chown(sub.path, 4712, 4712) == 0)
      let theirs = try folder.folder("book.assets")
      let trusted = FileOwners.trusted(with: shared)
      #expect(throws: DiskFailure.self) { try theirs.requireOwner(among: trusted) }
      #expect(unsafe chown(sub.path, 4712, 50) == 0)
      try folder.folder("book.assets").requireOwner(among: trusted)
    }
  }
}
