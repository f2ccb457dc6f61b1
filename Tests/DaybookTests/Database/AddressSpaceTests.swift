import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

#if os(Linux)
  #if canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  // A process with little address space, as on iOS: no database takes what the next one needs. Each test is a process of its own.

  @Suite("Little address space")
  struct AddressSpaceTests {
    /// Leaves the process so many bytes more than it has taken.
    private static func limit(toMore byteCount: Int) throws {
      let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
      let pageCount = try #require(text.split(separator: " ").first.flatMap { Int($0) })
      let taken = pageCount * SystemCall.memoryPageByteCount
      var limit = rlimit(rlim_cur: rlim_t(taken + byteCount), rlim_max: rlim_t(taken + byteCount))
      #if canImport(Musl)
        let resource = RLIMIT_AS
      #else
        let resource = __rlimit_resource_t(RLIMIT_AS.rawValue)
      #endif
      // Safe: the structure outlives the call.
      let code = unsafe setrlimit(resource, &limit)
      try #require(code == 0)
    }

    private static func withDirectory(_ body: (String) throws -> Void) throws {
      let directory = NSTemporaryDirectory() + "/daybook-space-" + UUID().uuidString
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      try body(directory)
    }

    /// Fills each, compacts each, and keeps all of them open.
    private static func use(_ databases: [Database], beside others: Int = 0) throws {
      let content = Data(count: 20_000)
      for database in databases {
        for part in 0..<4 {
          try database.write { transaction in
            for number in 0..<100 {
              try transaction.save(.fresh("r\(part)-\(number)", in: .default, ["b": .bytes(content)]))
            }
          }
        }
        try database.compact()
      }
      for database in databases {
        try #require(try database.recordCount(in: .default) == 400 + others)
        try #require(try database.check(.deep).isClean)
      }
      for database in databases { try database.close() }
    }

    @Test("eight databases are open and compacted where the first alone could reserve most of the space")
    func manyFiles() async {
      await #expect(processExitsWith: .success) {
        try Self.limit(toMore: 1536 << 20)
        try Self.withDirectory { directory in
          var options = Database.Options()
          try #require(options.access == .buffered)
          options.pageCacheByteCount = 4 << 20
          options.checkpoint.memoryByteCount = 64 << 20
          try Self.use((0..<8).map { try Database.open(at: "\(directory)/\($0).daybook", options: options) })
        }
      }
    }

    @Test("a page cache that is larger than what is left takes less, and leaves memory for everything else")
    func largeCache() async {
      await #expect(processExitsWith: .success) {
        try Self.limit(toMore: 1536 << 20)
        try Self.withDirectory { directory in
          var options = Database.Options()
          options.access = .buffered
          options.pageCacheByteCount = 1400 << 20
          options.checkpoint.memoryByteCount = 64 << 20
          let databases = try (0..<3).map { try Database.open(at: "\(directory)/\($0).daybook", options: options) }
          let rest = unsafe SystemCall.reserveAddresses(byteCount: 192 << 20)
          let hasRest = unsafe rest != nil
          try #require(hasRest)
          if let rest = unsafe rest { unsafe SystemCall.unmap(rest, byteCount: 192 << 20) }
          for database in databases {
            try database.write { try $0.save(.fresh("a", in: .default, ["b": .bytes(Data(count: 20_000))])) }
            try database.close()
          }
        }
      }
    }

    @Test("files that are mapped all the same take by their length, and leave room for others")
    func mappedFiles() async {
      await #expect(processExitsWith: .success) {
        try Self.limit(toMore: 2048 << 20)
        try Self.withDirectory { directory in
          var options = Database.Options()
          options.access = .mapped
          options.checkpoint.memoryByteCount = 64 << 20
          try Self.use((0..<3).map { try Database.open(at: "\(directory)/\($0).daybook", options: options) })
        }
      }
    }

    /// Databases whose files have so many bytes, most of them zeros at the end that the file system keeps no blocks for.
    private static func makeLong(_ paths: [String], byteCount: Int) throws {
      var options = Database.Options()
      options.access = .buffered
      for path in paths {
        let database = try Database.open(at: path, options: options)
        try database.write { try $0.save(.fresh("a", in: .default, ["b": .bytes(Data(count: 20_000))])) }
        try database.close()
        let file = try SystemDisk().open(path, .readWrite)
        try file.truncate(to: byteCount)
        file.close()
      }
    }

    private static func useLong(access: Database.Options.Access?) throws {
      // First of all: what the system grants is asked once.
      try limit(toMore: 4096 << 20)
      try withDirectory { directory in
        let paths = (0..<4).map { "\(directory)/\($0).daybook" }
        try makeLong(paths, byteCount: 2 << 30)
        var options = Database.Options()
        if let access { options.access = access }
        options.isReadOnly = true
        let readers = try paths.map { try Database.open(at: $0, options: options) }
        for reader in readers { try #require(try reader.recordCount(in: .default) == 1) }
        let rest = unsafe SystemCall.reserveAddresses(byteCount: 192 << 20)
        let hasRest = unsafe rest != nil
        try #require(hasRest)
        if let rest = unsafe rest { unsafe SystemCall.unmap(rest, byteCount: 192 << 20) }
        options.isReadOnly = false
        options.checkpoint.memoryByteCount = 64 << 20
        try use(try paths.map { try Database.open(at: $0, options: options) }, beside: 1)
        for reader in readers { try reader.close() }
      }
    }

    @Test("four databases of 2 GB fit into 4 GB, with a compaction of each and memory for everything else")
    func longFiles() async {
      await #expect(processExitsWith: .success) { try Self.useLong(access: nil) }
    }

    @Test("where mapping is asked for, what finds no room is read without, and memory for everything else is left")
    func longMappedFiles() async {
      await #expect(processExitsWith: .success) {
        try Self.useLong(access: .mapped)
      }
    }

    @Test("a database in memory grows past what was reserved for it at first")
    func inMemoryGrows() async {
      await #expect(processExitsWith: .success) {
        try Self.limit(toMore: 1536 << 20)
        var options = Database.Options()
        options.pageCacheByteCount = 4 << 20
        options.compaction.isAutomatic = false
        for access in [Database.Options.Access.mapped, .buffered] {
          options.access = access
          let database = try Database.inMemory(options: options)
          let content = Data(repeating: 7, count: 900_000)
          for number in 0..<120 {
            try database.write { try $0.save(.fresh("r\(number)", in: .default, ["b": .bytes(content)])) }
          }
          try #require(try database.statistics().fileByteCount > 100 << 20)
          for number in stride(from: 0, to: 120, by: 7) {
            try #require(try database.record(Record.ID("r\(number)"))?["b"] == .bytes(content))
          }
          try database.compact()
          try #require(try database.check(.deep).isClean)
          try database.close()
        }
      }
    }

    @Test("three hundred databases are open in one process, and much is left for everything else")
    func crowd() async {
      await #expect(processExitsWith: .success) {
        try Self.withDirectory { directory in
          var options = Database.Options()
          options.access = .mapped
          options.pageCacheByteCount = 1 << 20
          let databases = try (0..<300).map { try Database.open(at: "\(directory)/\($0).daybook", options: options) }
          for database in databases {
            try database.write { try $0.save(.fresh("a", in: .default, ["b": .bytes(Data(count: 20_000))])) }
          }
          let rest = unsafe SystemCall.reserveAddresses(byteCount: 1 << 36)
          let hasRest = unsafe rest != nil
          try #require(hasRest)
          for database in databases {
            try #require(try database.recordCount(in: .default) == 1)
            try database.close()
          }
        }
      }
    }

    /// Whether an allocation of this size succeeds.
    private static func hasRoom(for byteCount: Int) -> Bool {
      guard let rest = unsafe SystemCall.reserveAddresses(byteCount: byteCount) else { return false }
      unsafe SystemCall.unmap(rest, byteCount: byteCount)
      return true
    }

    /// Opens databases of one record each, and keeps them open.
    private static func open(_ count: Int, _ options: Database.Options, in directory: String) throws -> [Database] {
      try (0..<count).map { number in
        let database = try Database.open(at: "\(directory)/\(number).daybook", options: options)
        try database.write { try $0.save(.fresh("a", in: .default, ["n": .int(1)])) }
        return database
      }
    }

    @Test("sixty databases are open where a limit leaves 40 GB, and much is left for everything else")
    func manyWithinLimit() async {
      await #expect(processExitsWith: .success) {
        try Self.limit(toMore: 40 << 30)
        try Self.withDirectory { directory in
          try #require(Database.Options().access == .mapped)
          let databases = try Self.open(60, Database.Options(), in: directory)
          try #require(Self.hasRoom(for: 512 << 20))
          for database in databases {
            try #require(try database.recordCount(in: .default) == 1)
            try database.close()
          }
        }
      }
    }

    @Test("twelve databases that are mapped all the same leave memory for everything else where a limit leaves 2 GB")
    func manyMapped() async {
      await #expect(processExitsWith: .success) {
        try Self.limit(toMore: 2048 << 20)
        try Self.withDirectory { directory in
          var options = Database.Options()
          options.access = .mapped
          let databases = try Self.open(12, options, in: directory)
          try #require(Self.hasRoom(for: 64 << 20))
          for database in databases { try database.close() }
        }
      }
    }

    @Test("sixteen databases with the usual options are open where a limit leaves 2 GB")
    func manyWithCaches() async {
      await #expect(processExitsWith: .success) {
        try Self.limit(toMore: 2048 << 20)
        try Self.withDirectory { directory in
          let databases = try Self.open(16, Database.Options(), in: directory)
          try #require(Self.hasRoom(for: 64 << 20))
          for database in databases { try database.close() }
        }
      }
    }

    @Test("an open that finds no addresses says so, and what to do")
    func noAddresses() {
      let error = DatabaseError(DiskFailure(.map, path: "memory", code: ErrorNumber.noMemory, byteCount: 4096))
      #expect(error.code == .ioFailed && "\(error)".contains("no address space left") && "\(error)".contains("RLIMIT_AS"))
    }

    @Test("databases in memory leave room for others")
    func inMemory() async {
      await #expect(processExitsWith: .success) {
        try Self.limit(toMore: 2048 << 20)
        var options = Database.Options()
        options.pageCacheByteCount = 4 << 20
        options.checkpoint.memoryByteCount = 64 << 20
        try Self.use((0..<3).map { _ in try Database.inMemory(options: options) })
      }
    }
  }
#endif
