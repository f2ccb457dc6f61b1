import DaybookEngine
import DaybookTesting
import Foundation
import Synchronization
import Testing

@testable import Daybook

// A child process has its parent's memory and shares its open files: it may do nothing with the databases that are open.
//
// Each test forks in a process of its own, in which no other test runs: a child has only the thread that forked, so a lock of the
// runtime or of the allocator that another thread held stays locked in it.

#if !os(iOS)
  @Suite("After fork", .serialized)
  struct ForkedProcessTests {
    private final class Box { var database: Database? }

    private func withDirectory(_ body: (String) throws -> Void) throws {
      let directory = FileManager.default.temporaryDirectory.appending(path: "daybook-fork-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      try body(directory)
    }

    private static let counter = try! Record.ID("counter")

    private func increment(_ database: Database) throws {
      try database.write { transaction in
        var record = try transaction.record(Self.counter) ?? Record(type: "Counter", id: Self.counter)
        record["n"] = (record["n"] ?? 0) + 1
        try transaction.save(record)
      }
    }

    private static func isRefused(_ error: any Error) -> Bool { (error as? DatabaseError)?.code == .closed }

    enum Kind: CaseIterable, Codable { case keepsLock, takesTurns, reads }

    #if os(Linux)
      @Test("a child that no handler of the C library saw does not write into its parent's database")
      func bareChild() async {
        await #expect(processExitsWith: .success) {
          let tests = ForkedProcessTests()
          try tests.withDirectory { directory in
            let database = try Database.open(at: directory + "/a.daybook")
            try tests.increment(database)
            let status = inBareChild {
              do {
                try tests.increment(database)
                return 1
              } catch { return Self.isRefused(error) ? 0 : 2 }
            }
            try #require(status == 0)
            try tests.increment(database)
            let stored = try database.record(Self.counter)
            try #require(stored?["n"] == 2)
            try database.close()
          }
        }
      }
    #endif

    @Test("a child is refused a backup of its parent's database, and makes one of its own opening while the parent goes on")
    func backup() async {
      await #expect(processExitsWith: .success) {
        let tests = ForkedProcessTests()
        try tests.withDirectory { directory in
          var options = Database.Options()
          options.lock = .perTransaction
          let database = try Database.open(at: directory + "/a.daybook", options: options)
          try database.setIndex([.queryable, .sortable], on: "modificationDate", ofType: "Counter")
          for _ in 0..<20 { try tests.increment(database) }
          let status = inChild {
            do {
              do {
                try database.backup(to: directory + "/refused.daybook")
                return 1
              } catch { if !Self.isRefused(error) { return 2 } }
              let own = try Database.open(at: directory + "/a.daybook", options: options)
              try tests.increment(own)
              try own.backup(to: directory + "/child.daybook")
              try tests.increment(own)
              try own.close()
              return 0
            } catch { return 3 }
          }
          try #require(status == 0, "\(status)")
          try #require(!FileManager.default.fileExists(atPath: directory + "/refused.daybook"))
          try tests.increment(database)
          try database.backup(to: directory + "/parent.daybook")
          try database.close()
          for (name, count) in [("a", 23), ("child", 21), ("parent", 23)] {
            let found = try Database.open(at: directory + "/\(name).daybook", options: options)
            let counter = try found.record(Self.counter)
            try #require(counter?["n"] == count, "\(name)")
            let newest = try found.records(Query("Counter", sort: [.descending(.modificationDate)], limit: 1))
            try #require(newest == [counter].compactMap { $0 })
            try #require(try found.check().isClean, "\(name)")
            try found.close()
          }
        }
      }
    }

    @Test("a child opens its parent's container for itself, and the parent's is refused there")
    func container() async {
      await #expect(processExitsWith: .success) {
        let tests = ForkedProcessTests()
        try tests.withDirectory { directory in
          var options = Database.Options()
          options.lock = .perTransaction
          options.hasBackgroundThread = false
          let parents = try Container.open("com.example.Notes", in: directory, options: options)
          try tests.increment(parents.privateDatabase)
          let status = inChild {
            do {
              let own = try Container.open("com.example.Notes", in: directory, options: options)
              if own.privateDatabase === parents.privateDatabase { return 1 }
              try tests.increment(own.privateDatabase)
              do {
                try parents.close()
                return 2
              } catch { if !Self.isRefused(error) { return 3 } }
              try tests.increment(own.privateDatabase)
              try own.close()
              return 0
            } catch { return 4 }
          }
          #expect(status == 0, "the step \(status >> 8)")
          try tests.increment(parents.privateDatabase)
          #expect(try parents.privateDatabase.record(Self.counter)?["n"] == 4)
          try parents.close()
        }
      }
    }

    @Test("in a child every call is refused, and the parent's locks and log stay as they are", arguments: Kind.allCases)
    func everyDoor(kind: Kind) async {
      await #expect(processExitsWith: .success) { [kind = kind as Kind] in
        let tests = ForkedProcessTests()
        try tests.withDirectory { directory in
          let path = directory + "/a.daybook"
          try tests.increment(Database.open(at: path))
          var options = Database.Options()
          options.isReadOnly = kind == .reads
          options.lock = kind == .takesTurns ? .perTransaction : .whileOpen
          options.access = .mapped
          // The parent's own would go on writing zeros and notes while the child is looked at.
          options.hasBackgroundThread = false
          let box = Box()
          let database = try Database.open(at: path, options: options)
          if kind != .reads { try tests.increment(database) }
          try database.refresh()
          let snapshot = try database.snapshot()
          let asset = Asset(data: Data(repeating: 1, count: 100_000))
          let doors: [(Database) throws -> Void] = [
            { try $0.suspend() }, { try $0.resume() }, { try $0.refresh() }, { try $0.compact() }, { try $0.sync() },
            { try tests.increment($0) }, { _ = try $0.record(Self.counter) }, { _ = try $0.snapshot() },
            { _ in _ = try snapshot.record(Self.counter) }, { try $0.backup(to: directory + "/copy") },
            { _ = try $0.check() }, { _ = try $0.statistics() }, { _ = try $0.collectAssets() }, { _ = try $0.prepare(asset) },
            { try $0.close() },
          ]
          let bytes = try Data(contentsOf: URL(filePath: path)).count
          let status = inChild {
            for (number, door) in doors.enumerated() {
              do {
                try door(database)
                return Int32(number + 1)
              } catch {
                // What a reader never does may be refused for that.
                let isReaders = kind == .reads && (error as? DatabaseError)?.code == .readOnly
                if !Self.isRefused(error), !isReaders { return Int32(number + 101) }
              }
            }
            return 0
          }
          #expect(status == 0, "the door \(status >> 8)")
          #expect(try Data(contentsOf: URL(filePath: path)).count == bytes)
          let probe = try SystemDisk().open(path, .readWrite)
          if kind == .keepsLock { #expect(try !probe.tryLock(.writer, .exclusive)) }
          if kind == .reads { #expect(try !probe.tryLock(.readers, .exclusive)) }
          probe.close()
          if kind != .reads { try tests.increment(database) }
          #expect(try database.record(Self.counter)?["n"] == (kind == .reads ? 1 : 3))
          #expect(try snapshot.record(Self.counter)?["n"] == (kind == .reads ? 1 : 2))
          #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["a.daybook"])
          #expect(try database.check(.deep).isClean)
          try database.close()
          _ = box
        }
      }
    }

    @Test("a database that goes away in a child leaves its parent's alone")
    func goesAway() async {
      await #expect(processExitsWith: .success) {
        let tests = ForkedProcessTests()
        try tests.withDirectory { directory in
          let path = directory + "/a.daybook"
          let box = Box()
          box.database = try Database.open(at: path)
          try tests.increment(#require(box.database))
          let status = inChild {
            box.database = nil
            return 0
          }
          #expect(status == 0)
          let database = try #require(box.database)
          let probe = try SystemDisk().open(path, .readWrite)
          #expect(try !probe.tryLock(.writer, .exclusive))
          probe.close()
          try tests.increment(database)
          try database.close()
          let reopened = try Database.open(at: path)
          #expect(try reopened.record(Self.counter)?["n"] == 2 && reopened.lastRecovery.wasClosed)
          try reopened.close()
        }
      }
    }

    /// What a parent has, and a child releases.
    private final class Belongings {
      var database: Database?
      var container: Container?
      var commits: AsyncStream<CommitNotice>?
      var results: AsyncThrowingStream<[Record], any Error>?
      var notifications: AsyncStream<SubscriptionNotification>?
      var prepared: Asset?
      var stored: Asset?
    }

    #if DEBUG
      @Test("a lock of its parent is counted when a child takes it")
      func countsInheritedLocks() async {
        await #expect(processExitsWith: .success) {
          let tests = ForkedProcessTests()
          try tests.withDirectory { directory in
            try Database.open(at: directory + "/a.daybook").close()
            let parents = Locked(1)
            let status = inChild {
              Locked(1).withLock { _ in }
              if ForkedProcess.inheritedLockCount.load(ordering: .relaxed) != 0 { return 1 }
              parents.withLock { _ in }
              return ForkedProcess.inheritedLockCount.load(ordering: .relaxed) == 1 ? 0 : 2
            }
            #expect(status == 0)
          }
        }
      }
    #endif

    @Test(
      "a child does not hang, whatever locks its parent's other threads held when it was made", arguments: Kind.allCases,
      [Database.Options.Access.mapped, .buffered])
    func inheritedLocks(kind: Kind, access: Database.Options.Access) async {
      await #expect(processExitsWith: .success) { [kind = kind as Kind, isMapped = (access == .mapped) as Bool] in
        let tests = ForkedProcessTests()
        try tests.withDirectory { directory in
          let path = directory + "/a.daybook"
          let content = Data(repeating: 1, count: 100_000)
          let id = try Record.ID("asset")
          do {
            let first = try Database.open(at: path)
            var record = try Record(type: "File", id: id)
            record["file"] = Asset(data: content)
            try first.save(record)
            try first.close()
          }
          var options = Database.Options()
          options.isReadOnly = kind == .reads
          options.lock = kind == .takesTurns ? .perTransaction : .whileOpen
          options.access = isMapped ? .mapped : .buffered
          let own = Belongings()
          let database = try Database.open(at: path, options: options)
          own.database = database
          own.container = try Container.open("com.example.Notes", in: directory)
          own.commits = database.commits()
          own.results = database.observe(Query("File"))
          own.notifications = database.notifications()
          if kind != .reads { own.prepared = try database.prepare(Asset(data: Data(repeating: 2, count: 100_000))) }
          own.stored = try database.record(id)?["file"] as Asset?
          #expect(own.stored?.fileURL != nil)
          let names = try FileManager.default.subpathsOfDirectory(atPath: directory).sorted()
          unowned let container = try #require(own.container)
          let status = inChild {
            let doors: [() throws -> Void] = [
              { _ = try own.stored?.content() }, { _ = try own.prepared?.content() ?? own.stored?.content() },
              { _ = try own.database?.storedAssets() }, { _ = try own.database?.assetLeftovers() },
              { try own.database?.takeOverAssets() }, { try container.setAccountStatus(.noAccount) },
              { try container.refreshAccountStatus() }, { try container.close() },
              { try container.privateDatabase.suspend() },
            ]
            for (number, door) in doors.enumerated() {
              do {
                try door()
                return Int32(number + 1)
              } catch {
                let isReaders = kind == .reads && (error as? DatabaseError)?.code == .readOnly
                if !Self.isRefused(error), !isReaders { return Int32(number + 101) }
              }
            }
            if own.stored?.fileURL != nil { return 60 }
            if container.accountStatus() != .available { return 61 }
            _ = container.accountStatusChanges()
            _ = (own.database?.commits(), own.database?.observe(Query("File")), own.database?.notifications())
            own.commits = nil
            own.results = nil
            own.notifications = nil
            own.prepared = nil
            own.stored = nil
            own.container = nil
            own.database = nil
            do {
              let new = try Database.open(at: directory + "/child.daybook")
              try tests.increment(new)
              try new.close()
              try Container.open("com.example.Child", in: directory).close()
            } catch { return 62 }
            #if DEBUG
              if ForkedProcess.inheritedLockCount.load(ordering: .relaxed) > 0 { return 63 }
            #endif
            return 0
          }
          #expect(status == 0, "the step \(status >> 8)")
          let left = try FileManager.default.subpathsOfDirectory(atPath: directory).filter {
            !$0.lowercased().contains("child")
          }
          #expect(left.sorted() == names)
          if kind != .reads {
            #expect(try own.prepared?.content().count == 100_000)
            try tests.increment(database)
          }
          #expect(try own.stored?.content() == content)
          try own.container?.close()
          try database.close()
        }
      }
    }

    @Test("a transaction that forks commits once, in the parent")
    func withinTransaction() async {
      await #expect(processExitsWith: .success) {
        let tests = ForkedProcessTests()
        try tests.withDirectory { directory in
          let database = try Database.open(at: directory + "/a.daybook")
          try tests.increment(database)
          var child: Int32 = -1
          do {
            try database.write { transaction in
              try transaction.setMetadata(Data([1]), forKey: "forked")
              child = forkProcess()
              if child == 0 { limitChild(seconds: 30) }
            }
            if child == 0 { exitChild(1) }
          } catch {
            if child == 0 { exitChild(Self.isRefused(error) ? 0 : 2) }
            throw error
          }
          #expect(waitForChild(child) == 0)
          try tests.increment(database)
          #expect(database.store.lastSequence == 3)
          #expect(try database.metadata(forKey: "forked") == Data([1]))
          #expect(try database.check(.deep).isClean)
          try database.close()
        }
      }
    }

    @Test("a child opens the file for itself, as any other process does")
    func opensItself() async {
      await #expect(processExitsWith: .success) {
        let tests = ForkedProcessTests()
        try tests.withDirectory { directory in
          let path = directory + "/a.daybook"
          var options = Database.Options()
          options.lock = .perTransaction
          options.hasBackgroundThread = false
          let database = try Database.open(at: path, options: options)
          try tests.increment(database)
          let status = inChild {
            do {
              let own = try Database.open(at: path, options: options)
              try tests.increment(own)
              try own.close()
              return 0
            } catch { return 1 }
          }
          #expect(status == 0)
          try tests.increment(database)
          #expect(try database.record(Self.counter)?["n"] == 3)
          try database.close()
        }
      }
    }

    #if os(Linux)
      @Test("a child that has its parent's number, as in a container, leaves its parent's files and locks alone")
      func namesake() async {
        await #expect(processExitsWith: .success) {
          let tests = ForkedProcessTests()
          try tests.withDirectory { directory in
            // Before anything else: what has no database is told of no fork by one.
            let staged = try StagingFolder(in: directory)
            _ = try staged.newFile(Data([1]))
            let path = directory + "/a.daybook"
            let own = Belongings()
            let database = try Database.open(at: path)
            own.database = database
            try tests.increment(database)
            own.prepared = try database.prepare(Asset(data: Data(repeating: 2, count: 100_000)))
            let claims = PerProcess { Locked(0) }
            claims.value.withLock { $0 = 1 }
            let names = try FileManager.default.subpathsOfDirectory(atPath: directory).sorted()
            let status = inNamesake {
              #if DEBUG
                if claims.value.withLock({ $0 }) != 0 { return 1 }
              #endif
              staged.remove()
              own.prepared = nil
              do {
                _ = try own.database?.storedAssets()
                return 2
              } catch { if !Self.isRefused(error) { return 3 } }
              own.database = nil
              #if DEBUG
                if ForkedProcess.inheritedLockCount.load(ordering: .relaxed) > 0 { return 4 }
              #endif
              return 0
            }
            // Only root may have such numbers.
            #expect(status == nil && geteuid() != 0 || status == 0)
            #expect(try FileManager.default.subpathsOfDirectory(atPath: directory).sorted() == names)
            let probe = try SystemDisk().open(path, .readWrite)
            #expect(try !probe.tryLock(.writer, .exclusive))
            probe.close()
            try tests.increment(database)
            try database.close()
            staged.remove()
          }
        }
      }
    #endif
  }
#endif
