import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// A container is a directory, and not what has its path: other directories that take the path, links in the place of its files,
// and spellings that Swift takes for equal.

@Suite("the directory of a container", .timeLimit(.minutes(15)))
struct ContainerFolderTests {
  private static let id = "com.example.Notes"
  private static let account = "\(id).account.json"

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func make(_ name: String) throws -> String {
    let path = folder.file(name)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    return path
  }

  private func move(_ source: String, to target: String) throws {
    try FileManager.default.moveItem(atPath: source, toPath: target)
  }

  private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  private func open(_ directory: String, isReadOnly: Bool = false) throws -> Container {
    var options = Database.Options()
    options.durability = .relaxed
    options.isReadOnly = isReadOnly
    return try Container.open(Self.id, in: directory, options: options)
  }

  private func names(_ container: Container) throws -> [String] {
    try container.privateDatabase.records(in: .default).map(\.id.name)
  }

  // MARK: the account

  @Test("a link that took the place of the account file chose which file of the user was overwritten")
  func linkedAccount() throws {
    let box = try make("box")
    let container = try open(box)
    let path = box + "/" + Self.account
    let own = try text(path)
    // A file of the user's with anything in it; his account in another directory; a copy of this account.
    for (name, content) in [
      ("precious", "precious"), ("other", own.replacing(container.userRecordName, with: "user-of-another")), ("copy", own),
    ] {
      let target = folder.file(name)
      try Data(content.utf8).write(to: URL(filePath: target))
      try FileManager.default.removeItem(atPath: path)
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
      #expect(failure { try container.setAccountStatus(.noAccount) }?.code == .ioFailed, "\(name)")
      #expect(failure { try container.refreshAccountStatus() }?.code == .ioFailed, "\(name)")
      #expect(try text(target) == content)
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == target, "the link stays as it is")
    }
    #expect(container.accountStatus() == .available)
    // Without anything in its place the account is made again.
    try FileManager.default.removeItem(atPath: path)
    try container.setAccountStatus(.noAccount)
    #expect(try text(path) == own.replacing("available", with: "noAccount"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: box).count == 4, "nothing else is left")
    try container.close()
  }

  @Test("another user's account, or any other file, that took the place of the account file was replaced, and believed")
  func otherAccount() throws {
    let box = try make("box")
    let container = try open(box)
    let path = box + "/" + Self.account
    let own = try text(path)
    let others: [(String, DatabaseError.Code)] = [
      (own.replacing(container.userRecordName, with: "user-of-another"), .badContainer),
      (own.replacing(Self.id, with: "com.example.Other"), .badContainer),
      ("no account at all", .corrupted), (own.replacing(#""version":1"#, with: #""version":2"#), .formatTooNew),
    ]
    for (content, code) in others {
      try Data(content.utf8).write(to: URL(filePath: path))
      #expect(failure { try container.setAccountStatus(.noAccount) }?.code == code, "\(content)")
      #expect(failure { try container.refreshAccountStatus() }?.code == code, "\(content)")
      #expect(try text(path) == content)
    }
    #expect(container.accountStatus() == .available)
    try Data(own.utf8).write(to: URL(filePath: path))
    try container.setAccountStatus(.noAccount)
    #expect(try container.refreshAccountStatus() == .noAccount)
    try container.close()
  }

  @Test("a link to the account that is there at the open is followed then, and never again")
  func accountBehindLink() throws {
    let (box, elsewhere) = (try make("box"), try make("elsewhere"))
    let path = box + "/" + Self.account
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "../elsewhere/account")
    let container = try open(box)
    let own = try text(elsewhere + "/account")
    // The link leads to another file by now.
    let precious = folder.file("precious")
    try Data("precious".utf8).write(to: URL(filePath: precious))
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: precious)
    try container.setAccountStatus(.noAccount)
    #expect(try text(precious) == "precious")
    #expect(try text(elsewhere + "/account") == own.replacing("available", with: "noAccount"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere) == ["account"])
    try container.close()
  }

  @Test("after the last close the account's status cannot be changed")
  func closedContainer() throws {
    let box = try make("box")
    let container = try open(box)
    try container.close()
    #expect(failure { try container.setAccountStatus(.noAccount) }?.code == .closed)
    #expect(failure { try container.refreshAccountStatus() }?.code == .closed)
    let again = try open(box, isReadOnly: true)
    #expect(again.accountStatus() == .available && again.userRecordName == container.userRecordName)
    #expect(failure { try again.setAccountStatus(.noAccount) }?.code == .readOnly)
    try again.close()
  }

  // MARK: which container it is

  @Test("another directory that took the path of an open container was handed its databases")
  func movedDirectory() throws {
    let box = try make("box")
    let first = try open(box)
    try first.privateDatabase.put("of-first")
    try move(box, to: folder.file("moved"))
    _ = try make("box")
    let second = try open(box)
    #expect(second.userRecordName != first.userRecordName)
    try second.privateDatabase.put("of-second")
    #expect(try names(first) == ["of-first"] && names(second) == ["of-second"])
    // Each goes on in its own directory.
    try first.setAccountStatus(.noAccount)
    #expect(try second.refreshAccountStatus() == .available)
    #expect(try text(folder.file("moved/" + Self.account)).contains("noAccount"))
    #expect(try text(box + "/" + Self.account).contains(second.userRecordName))
    // Under its new path it is the same container.
    let again = try open(folder.file("moved"))
    #expect(again.privateDatabase === first.privateDatabase)
    for container in [first, again, second] { try container.close() }
    for (path, name) in [(box, "of-second"), (folder.file("moved"), "of-first")] {
      let container = try open(path)
      #expect(try names(container) == [name])
      try container.privateDatabase.expectClean()
      try container.close()
    }
  }

  @Test("a container of which one database was kept was completed by files of another directory")
  func lostContainer() throws {
    let box = try make("box")
    let kept = try open(box).privateDatabase
    try move(box, to: folder.file("moved"))
    _ = try make("box")
    let second = try open(box)
    #expect(second.privateDatabase !== kept)
    #expect(try FileManager.default.contentsOfDirectory(atPath: box).filter { $0.hasSuffix(".daybook") }.count == 3)
    // The other two of the first one are opened where it is now.
    let first = try open(folder.file("moved"))
    #expect(first.privateDatabase === kept)
    try first.publicDatabase.put("public")
    #expect(try second.publicDatabase.recordCount(in: .default) == 0)
    for container in [first, second] { try container.close() }
  }

  @Test("databases that are opened after a rename are those of the directory that is open")
  func openedAfterRename() throws {
    let box = try make("box")
    let kept = try open(box).privateDatabase
    try move(box, to: folder.file("moved"))
    let other = try make("box")
    // Nothing has this path's container open, but the directory is the other one's.
    try FileManager.default.createSymbolicLink(
      atPath: other + "/\(Self.id).public.daybook", withDestinationPath: folder.file("stranger.daybook"))
    let again = try open(folder.file("moved"))
    #expect(again.privateDatabase === kept)
    try again.publicDatabase.put("public")
    #expect(!FileManager.default.fileExists(atPath: folder.file("stranger.daybook")))
    try again.close()
  }

  @Test("two directories whose names differ in composition alone were one container")
  func spelling() throws {
    let composed = try make("\u{E9}")
    // A volume that takes the two for one has one container.
    guard let decomposed = try? make("e\u{301}") else { return }
    let (first, second) = (try open(composed), try open(decomposed))
    #expect(first.userRecordName != second.userRecordName && first.privateDatabase !== second.privateDatabase)
    for container in [first, second] { try container.close() }
  }

  @Test("one directory is one container, also by a link, a link's directory and a path with dots")
  func otherPaths() throws {
    let box = try make("box")
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: "box")
    try FileManager.default.createDirectory(atPath: box + "/deep", withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(atPath: folder.file("deep"), withDestinationPath: "box/deep")
    let first = try open(box)
    let others = try [
      folder.file("link"), folder.file("link/"), folder.file("./box/."), folder.file("deep/.."),
    ].map { try open($0) }
    for other in others { #expect(other.privateDatabase === first.privateDatabase) }
    for container in others + [first] { try container.close() }
  }

  @Test("disks that know directories by their paths alone compare the bytes of paths")
  func simulated() throws {
    let disk = SimulatedDisk(seed: 1)
    let first = try Container.open(Self.id, in: "/a", on: disk)
    let same = try Container.open(Self.id, in: "/a", on: disk)
    let second = try Container.open(Self.id, in: "/b", on: disk)
    let other = try Container.open(Self.id, in: "/a", on: SimulatedDisk(seed: 2))
    #expect(first.privateDatabase === same.privateDatabase)
    #expect(first.privateDatabase !== second.privateDatabase && first.privateDatabase !== other.privateDatabase)
    for container in [first, same, second, other] { try container.close() }
  }

  // MARK: descriptors

  @Test("a container that is closed keeps no directory open")
  func descriptors() throws {
    let box = try make("box")
    let disk = HookedDisk()
    var options = Database.Options()
    options.durability = .relaxed
    let container = try Container.open(Self.id, in: box, options: options, disk: disk)
    try container.setAccountStatus(.noAccount)
    #expect(disk.openFolderCount > 0)
    try container.close()
    #expect(disk.openFolderCount == 0)
    #expect(container.accountStatus() == .noAccount)
  }
}
