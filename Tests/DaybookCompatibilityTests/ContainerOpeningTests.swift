#if !canImport(CloudKit)
  import Daybook
  import Foundation
  import Testing

  @testable import DaybookCompatibility

  // Which container a CKContainer is: that of a folder, whatever the folder's path says by now.

  @Suite("the folder of a CKContainer")
  struct ContainerOpeningTests {
    private static let id = "iCloud.com.example.Folders"

    private func withFolder(_ body: (URL) throws -> Void) throws {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("daybook-names-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      try body(folder)
    }

    private func opening(_ folder: URL, _ name: String) -> ContainerOpening {
      var setting = CKContainer.Setting()
      setting.directory = folder.appendingPathComponent(name)
      return .of(Self.id, setting)
    }

    @Test("another folder that took the path of an open container had its databases")
    func moved() throws {
      try withFolder { folder in
        let first = opening(folder, "box")
        #expect(opening(folder, "box") === first, "before there is any folder")
        let own = try first.container()
        #expect(opening(folder, "box") === first)
        try FileManager.default.moveItem(
          at: folder.appendingPathComponent("box"), to: folder.appendingPathComponent("moved"))
        #expect(opening(folder, "moved") === first)
        let second = opening(folder, "box")
        #expect(second !== first)
        #expect(try second.container().userRecordName != own.userRecordName)
        #expect(opening(folder, "box") === second && opening(folder, "moved") === first)
        #expect(try first.container() === own)
        try first.close()
        try second.close()
        // Closed, each is a path again.
        #expect(opening(folder, "box") === first)
        #expect(try first.container().userRecordName != own.userRecordName)
        try first.close()
      }
    }

    @Test("two folders whose names differ in composition alone were one container")
    func spelling() throws {
      try withFolder { folder in
        let (first, second) = (opening(folder, "\u{E9}"), opening(folder, "e\u{301}"))
        #expect(first !== second)
        let names = Set(try [first, second].map { try $0.container().userRecordName })
        // A volume that takes the two for one has one container.
        #expect(names.count == (try FileManager.default.contentsOfDirectory(atPath: folder.path).count))
        for opening in [first, second] { try opening.close() }
      }
    }
  }
#endif
