import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

@Suite("the file of identities", .timeLimit(.minutes(15)))
struct IdentityFileTests {
  private func code(_ path: String) async -> DatabaseError.Code? {
    do {
      _ = try await FileIdentityDiscovery(fileURL: URL(filePath: path)).allIdentities()
      return nil
    } catch { return (error as? DatabaseError)?.code }
  }

  @Test("a pipe in the place of the identities was waited for without end, and a device read without end")
  func others() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    #expect(AssetBench.makePipe(folder.file("pipe")))
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: folder.file("pipe"))
    for path in [folder.file("pipe"), folder.file("link"), "/dev/zero", folder.path, folder.file("nothing")] {
      #expect(await code(path) == .ioFailed, "\(path)")
    }
  }

  @Test("identities are read through a link, and more than 64 MB are refused before they are read")
  func limit() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try Data(#"[{"userRecordName":"user-1"}]"#.utf8).write(to: URL(filePath: folder.file("list.json")))
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: "list.json")
    #expect(try await FileIdentityDiscovery(fileURL: URL(filePath: folder.file("link"))).allIdentities().count == 1)
    let large = try SystemDisk().open(folder.file("large.json"), .createNew)
    defer { large.close() }
    try large.truncate(to: FileIdentityDiscovery.maximumByteCount + 1)
    #expect(await code(folder.file("large.json")) == .limitExceeded)
    #expect(await code(folder.file("empty.json")) == .ioFailed)
    try Data().write(to: URL(filePath: folder.file("empty.json")))
    #expect(await code(folder.file("empty.json")) == .invalidArguments)
  }

  @Test("a number without digits found whoever has none, and a plus sign counted anywhere")
  func numbers() async throws {
    let folder = try TemporaryFolder()
    let people = [
      UserIdentity(userRecordName: "none", phoneNumber: "unknown"),
      UserIdentity(userRecordName: "some", phoneNumber: "+44 20 (0)12+34"),
      UserIdentity(userRecordName: "national", phoneNumber: "44 20 01234"),
    ]
    try JSONEncoder().encode(people).write(to: URL(filePath: folder.file("list")))
    let directory = FileIdentityDiscovery(fileURL: URL(filePath: folder.file("list")))
    let lookups: [UserLookup] = ["", "?", "+", "unknown", "+44 20 01234", "442001234", "44+2001234"].map { .phoneNumber($0) }
    let found = try await directory.identities(for: lookups)
    #expect(found.mapValues(\.userRecordName) == [lookups[4]: "some", lookups[5]: "national", lookups[6]: "national"])
  }
}
