import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// An attacker who may write to the directory beside a database puts another file, or a link to one, in the place of what a
// compaction, a backup or a salvage has just made. That file gets nothing of the database, and is neither opened as one nor
// changed.

@Suite("files swapped after they were made")
struct SwappedFileTests {
  enum Work: String, CaseIterable, CustomTestStringConvertible {
    case compaction, backup, salvage
    var testDescription: String { rawValue }

    /// The name under which the file is made.
    var made: String { self == .compaction ? "a.compacted" : "copy.unfinished" }

    func run(_ path: String, _ copy: String, _ disk: HookedDisk) throws {
      if self == .salvage {
        _ = try Database.salvage(from: path, to: copy, options: SwappedFileTests.options, disk: disk)
        return
      }
      let database = try Database.open(at: path, options: SwappedFileTests.options, disk: disk)
      defer { try? database.close() }
      switch self {
      case .compaction: try database.compact()
      case .backup: try database.backup(to: copy, disk: disk)
      case .salvage: break
      }
    }
  }

  /// What takes the name.
  enum Plant: CaseIterable {
    /// An empty database, or one with a record, through a link.
    case linkToEmpty, linkToFilled
    /// The same, as a file that has two names.
    case empty, filled
    /// No database.
    case text

    var isLink: Bool { self == .linkToEmpty || self == .linkToFilled }

    func make(_ path: String) throws {
      if self == .text { return try Data(repeating: 7, count: 9000).write(to: URL(filePath: path)) }
      let database = try Database.open(at: path, options: SwappedFileTests.options)
      if self == .filled || self == .linkToFilled { try database.put("stranger's") }
      try database.close()
    }

    func put(_ stranger: String, at path: String) {
      try? FileManager.default.removeItem(atPath: path)
      if isLink {
        try? FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: stranger)
      } else {
        try? FileManager.default.linkItem(atPath: stranger, toPath: path)
      }
    }
  }

  fileprivate static var options: Database.Options {
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.durability = .relaxed
    options.hasBackgroundThread = false
    options.lockTimeout = .zero
    return options
  }

  /// A database that only its owner may read, and the file of another user, which all users may.
  private func make(in folder: TemporaryFolder, _ plant: Plant) throws -> (path: String, stranger: String) {
    let (path, stranger) = (folder.file("a"), folder.file("stranger"))
    let database = try Database.open(at: path, options: Self.options)
    for number in 0..<50 { try database.put("secret\(number)") }
    try database.close()
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    try plant.make(stranger)
    try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: stranger)
    if geteuid() == 0 {
      try FileManager.default.setAttributes(
        [.ownerAccountID: 65534, .groupOwnerAccountID: 65534], ofItemAtPath: stranger)
    }
    return (path, stranger)
  }

  private func state(of path: String) throws -> String {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let facts = [FileAttributeKey.posixPermissions, .ownerAccountID, .groupOwnerAccountID, .systemFileNumber]
    return facts.map { "\(attributes[$0] ?? "")" }.joined(separator: " ")
      + " \(try Data(contentsOf: URL(filePath: path)).hashValue)"
  }

  /// Swaps a name for the plant before the first call of a kind that names it.
  private func swap(
    _ name: String, _ operation: DiskFailure.Operation, _ disk: HookedDisk, _ body: @escaping @Sendable () -> Void
  ) {
    let isDone = Locked(false)
    disk.before { found, path throws(DiskFailure) in
      guard found == operation, path.hasSuffix("/" + name), FileManager.default.fileExists(atPath: path) else { return }
      let isFirst = isDone.withLock { isDone in
        defer { isDone = true }
        return !isDone
      }
      if isFirst { body() }
    }
  }

  @Test(
    "a file that takes the name of a copy before that is opened gets nothing of the database and stays as it is",
    arguments: Work.allCases, Plant.allCases)
  func beforeOpening(_ work: Work, _ plant: Plant) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, stranger) = try make(in: folder, plant)
    let before = try state(of: stranger)
    let place = folder.file(work.made)
    let disk = HookedDisk()
    swap(work.made, .open, disk) { plant.put(stranger, at: place) }
    let error = failure { try work.run(path, folder.file("copy"), disk) }
    disk.before(nil)
    #expect(error?.code == .ioFailed && error?.facts.path?.hasSuffix("/" + work.made) == true, "\(String(describing: error))")
    #expect(try state(of: stranger) == before)
    #expect(!FileManager.default.fileExists(atPath: folder.file("copy")))
    // What the stranger has put there is left alone, and the next try works when it is gone.
    let planted = try FileManager.default.attributesOfItem(atPath: place)[.type] as? FileAttributeType
    #expect(planted == (plant.isLink ? .typeSymbolicLink : .typeRegular))
    try FileManager.default.removeItem(atPath: place)
    try work.run(path, folder.file("copy"), disk)
    for name in work == .compaction ? ["a"] : ["a", "copy"] {
      let database = try Database.open(at: folder.file(name), options: Self.options)
      #expect(try database.recordCount(in: .default) == 50)
      try database.expectClean()
      try database.close()
    }
  }

  @Test(
    "at whatever call a file of somebody else takes the name of a copy, it is not changed", arguments: Work.allCases,
    [Plant.linkToEmpty, .empty])
  func atEveryCall(_ work: Work, _ plant: Plant) throws {
    var (call, callCount, swapCount) = (0, 1, 0)
    while call < callCount {
      let folder = try TemporaryFolder()
      defer { withExtendedLifetime(folder) {} }
      let (path, stranger) = try make(in: folder, plant)
      let before = try state(of: stranger)
      let disk = HookedDisk()
      let (count, hasSwapped) = (Locked(0), Locked(false))
      let (places, wanted) = ([folder.file(work.made), folder.file(work.made + ".new")], call)
      disk.before { _, _ throws(DiskFailure) in
        let number = count.withLock { count in
          defer { count += 1 }
          return count
        }
        guard number == wanted else { return }
        for place in places where FileManager.default.fileExists(atPath: place) {
          plant.put(stranger, at: place)
          hasSwapped.withLock { $0 = true }
        }
      }
      // It works, or fails: what it is about is what it leaves alone.
      do { try work.run(path, folder.file("copy"), disk) } catch { #expect(error is DatabaseError, "\(error)") }
      disk.before(nil)
      #expect(try state(of: stranger) == before, "swapped before call \(call + 1)")
      if hasSwapped.withLock({ $0 }) { swapCount += 1 }
      callCount = max(callCount, count.withLock { $0 })
      call += 1
    }
    #expect(swapCount > 3, "the file was swapped beside work")
  }

  @Test("a compaction in whose new file somebody has saved before it was locked is refused and does not trap")
  func writtenBefore() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, place) = (folder.file("a"), folder.file("a.compacted"))
    for count in [0, 3] {
      let disk = HookedDisk()
      let database = try Database.open(at: path, options: Self.options, disk: disk)
      for number in 0..<count { try database.put("r\(number)") }
      swap("a.compacted", .open, disk) {
        do {
          let other = try Database.open(at: place, options: Self.options)
          try other.put("others'")
          try other.close()
        } catch { Issue.record(error) }
      }
      let error = failure { try database.compact() }
      disk.before(nil)
      #expect(error?.code == .ioFailed && error?.facts.path == place, "\(String(describing: error))")
      #expect(!FileManager.default.fileExists(atPath: place))
      try database.compact()
      #expect(try database.recordCount(in: .default) == count)
      try database.close()
    }
  }

  // MARK: rights

  @Test("contents have the rights of the database that is open, not of a file that has taken its name")
  func contents() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, stranger) = try make(in: folder, .text)
    let database = try Database.open(at: path, options: Self.options)
    // The folder is there: under a lost name none is made.
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    try FileManager.default.moveItem(atPath: path, toPath: folder.file("moved"))
    try FileManager.default.moveItem(atPath: stranger, toPath: path)
    try database.put("b", asset: Asset(data: AssetBench.content(2)))
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("a.assets") }
    #expect(names.count > 4)
    for name in names {
      let attributes = try SystemDisk().attributes(of: folder.file(name))
      #expect(attributes.mode & 0o077 == 0 && attributes.owner == geteuid(), "\(name): \(attributes)")
    }
    try database.close()
  }

  @Test("a salvage has the rights of the file that is read, not of one that has taken its name")
  func salvage() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, stranger) = try make(in: folder, .empty)
    let disk = HookedDisk()
    let openedCount = Locked(0)
    disk.before { operation, found throws(DiskFailure) in
      // The call after the one that opens it.
      let count = openedCount.withLock { count in
        if operation == .open, found == path { count = max(count, 1) } else if count > 0 { count += 1 }
        return count
      }
      guard count == 2 else { return }
      try? FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
      try? FileManager.default.moveItem(atPath: stranger, toPath: path)
    }
    _ = try Database.salvage(from: path, to: folder.file("copy"), options: Self.options, disk: disk)
    #expect(FileManager.default.fileExists(atPath: path + ".moved"))
    let attributes = try SystemDisk().attributes(of: folder.file("copy"))
    #expect(attributes.mode == 0o600 && attributes.owner == geteuid(), "\(attributes)")
    let copy = try Database.open(at: folder.file("copy"), options: Self.options)
    #expect(try copy.recordCount(in: .default) == 50)
    try copy.close()
  }
}
