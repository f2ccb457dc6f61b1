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
      // Safe: the structure outlives the call.
      let code = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
      try #require(code == 0)
    }

    private static func withDirectory(_ body: (String) throws -> Void) throws {
      let directory = NSTemporaryDirectory() + "/daybook-space-" + UUID().uuidString
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      try body(directory)
    }

    /// Fills each, compacts each, and keeps all of them open.
    private static func use(_ databases: [Database]) throws {
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
        try #require(try database.recordCount(in: .default) == 400)
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
