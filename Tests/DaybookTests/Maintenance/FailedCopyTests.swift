import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// What a copy leaves when it fails: nothing.

@Suite("copies that fail")
struct FailedCopyTests {
  @Test("a backup whose unfinished file could not be made durable left it")
  func failedSync() throws {
    let (disk, folder) = (HookedDisk(), try TemporaryFolder())
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    try database.put("a")
    let temporary = folder.file("copy.unfinished")
    disk.before { operation, path throws(DiskFailure) in
      if operation == .syncDirectory, path == temporary {
        throw DiskFailure(operation, path: path, code: ErrorNumber.inputOutput)
      }
    }
    #expect(failure { try database.backup(to: folder.file("copy"), disk: disk) }?.code == .ioFailed)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.daybook"])
    try database.close()
  }
}

#if os(Linux)
  #if canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  // A process with few descriptors left. Each test is a process of its own.

  @Suite("Few descriptors")
  struct FewDescriptorsTests {
    /// Runs `body` with so many descriptors left.
    private static func leaving(_ count: Int, of path: String, _ body: () -> Void) throws {
      var taken: [any DiskFile] = []
      while let file = try? SystemDisk().open(path, .readOnly) { taken.append(file) }
      try #require(taken.count > count)
      for _ in 0..<count { taken.removeLast().close() }
      body()
      for file in taken { file.close() }
    }

    /// A hundred more numbers than there are descriptors: the process that made this one may have left it many.
    private static func limitDescriptors() throws {
      let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int($0) }
      let count = rlim_t((numbers.max() ?? 0) + 100)
      var limit = rlimit(rlim_cur: count, rlim_max: count)
      #if canImport(Musl)
        let resource = RLIMIT_NOFILE
      #else
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      #endif
      // Safe: the structure outlives the call.
      let code = unsafe setrlimit(resource, &limit)
      try #require(code == 0)
    }

    private static func make(_ folder: TemporaryFolder) throws -> Database {
      let database = try Database.withFiles(at: folder.file("a.daybook"))
      for number in 0..<3 { try database.put("r\(number)", asset: Asset(data: AssetBench.content(number))) }
      return database
    }

    /// What lies in the folder but the database.
    private static func others(in folder: TemporaryFolder) throws -> [String] {
      let own = ["a.daybook", "a.daybook.assets", "file"]
      return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().filter { !own.contains($0) }
    }

    /// Makes copies with ever more descriptors, until two of them succeed: one that fails leaves nothing.
    private static func copy(in folder: TemporaryFolder, _ body: (_ target: String) throws -> Void) throws {
      try Data([1]).write(to: URL(filePath: folder.file("file")))
      var (free, copyCount) = (0, 0)
      while copyCount < 2 {
        try #require(free < 60)
        var failure: (any Error)?
        try leaving(free, of: folder.file("file")) { do { try body(folder.file("copy\(free)")) } catch { failure = error } }
        let expected = failure == nil ? ["copy\(free)", "copy\(free).assets"] : []
        let found = try others(in: folder)
        try #require(found == expected, "with \(free) descriptors: \(found), \(String(describing: failure))")
        for name in found { try FileManager.default.removeItem(atPath: folder.file(name)) }
        copyCount += failure == nil ? 1 : 0
        free += 1
      }
      try #require(free > 6)
    }

    @Test("a backup that ended for want of descriptors left its unfinished file, or the folder of its assets")
    func backup() async {
      await #expect(processExitsWith: .success) {
        try Self.limitDescriptors()
        let folder = try TemporaryFolder()
        let database = try Self.make(folder)
        for links in [false, true] { try Self.copy(in: folder) { try database.backup(to: $0, linksAssets: links) } }
        try database.close()
      }
    }

    @Test("so did a salvage")
    func salvage() async {
      await #expect(processExitsWith: .success) {
        try Self.limitDescriptors()
        let folder = try TemporaryFolder()
        try Self.make(folder).close()
        let path = folder.file("a.daybook")
        try Self.copy(in: folder) { try Database.salvage(from: path, to: $0) }
      }
    }

    @Test("a compaction that ends for want of descriptors leaves nothing, and the database goes on")
    func compaction() async {
      await #expect(processExitsWith: .success) {
        try Self.limitDescriptors()
        let folder = try TemporaryFolder()
        let database = try Self.make(folder)
        try Data([1]).write(to: URL(filePath: folder.file("file")))
        var free = 0
        var failure: (any Error)?
        repeat {
          try #require(free < 60)
          failure = nil
          try Self.leaving(free, of: folder.file("file")) { do { try database.compact() } catch { failure = error } }
          let left = try Self.others(in: folder)
          try #require(left.isEmpty, "with \(free) descriptors: \(left)")
          try database.put("n\(free)")
          free += 1
        } while failure != nil
        try #require(free > 2)
        try database.expectClean()
        try database.close()
      }
    }
  }
#endif
