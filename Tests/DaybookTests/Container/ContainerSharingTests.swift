import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// One process opens a container many times, from many threads, and releases it in any order.
@Suite("containers that are shared", .timeLimit(.minutes(15)))
struct ContainerSharingTests {
  private static let id = "com.example.Notes"

  private func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) -> [String] {
    let failures = Locked<[String]>([])
    let threads = (0..<count).compactMap { number in
      BackgroundThread(name: "opener \(number)", stackByteCount: 4 << 20) {
        do { try body(number) } catch { failures.withLock { $0.append("\(error)") } }
      }
    }
    #expect(threads.count == count)
    for thread in threads { thread.join() }
    return failures.withLock { $0 }
  }

  private func options() -> Database.Options {
    var options = Database.Options()
    options.durability = .relaxed
    options.lockTimeout = .milliseconds(10)
    return options
  }

  @Test("closing within a transaction of one of its databases is refused, and closes nothing")
  func closeWithinTransaction() throws {
    let folder = try TemporaryFolder()
    let container = try Container.open(Self.id, in: folder.path, options: options())
    try container.privateDatabase.write { transaction in
      #expect(failure { try container.close() }?.code == .invalidArguments)
      try transaction.save(.fresh("r"))
    }
    for database in [container.privateDatabase, container.publicDatabase] {
      try database.write { try $0.save(.fresh("after")) }
    }
    try container.close()
    try Container.open(Self.id, in: folder.path, options: options()).close()
  }

  @Test("opening a container within a transaction of one of its databases, while another thread closes it, is refused and ends")
  func openBesideClose() async throws {
    let folder = try TemporaryFolder()
    let options = options()
    let container = try Container.open(Self.id, in: folder.path, options: options)
    let state = Locked((hasBegun: false, isClosing: false, endedCount: 0, code: nil as DatabaseError.Code?))
    func start(_ name: String, _ body: @escaping @Sendable () throws -> Void) throws {
      let thread = BackgroundThread(name: name, stackByteCount: 4 << 20) {
        do { try body() } catch { Issue.record("\(name): \(error)") }
        state.withLock { $0.endedCount += 1 }
      }
      _ = try #require(thread)
    }
    let waitForClose: @Sendable () -> Void = {
      while !state.withLock({ $0.isClosing }) { SystemClock.sleep(nanoseconds: 1_000_000) }
    }
    let changes = container.accountStatusChanges()
    try start("writer") {
      try container.privateDatabase.write { transaction in
        state.withLock { $0.hasBegun = true }
        waitForClose()
        let error = failure { try Container.open(Self.id, in: folder.path, options: options) }
        state.withLock { $0.code = error?.code }
        try transaction.save(.fresh("r"))
      }
    }
    while !state.withLock({ $0.hasBegun }) { await Task.yield() }
    try start("closer") { try container.close() }
    // Another thread, which is in no transaction, waits for the close and opens it again.
    try start("opener") {
      waitForClose()
      try Container.open(Self.id, in: folder.path, options: options).close()
    }
    // The streams of the account end with the close.
    for await _ in changes {}
    state.withLock { $0.isClosing = true }
    while state.withLock({ $0.endedCount }) < 3 { await Task.yield() }
    let code = state.withLock { $0.code }
    #expect(code == .invalidArguments)
    let again = try Container.open(Self.id, in: folder.path, options: options)
    let saved = try await again.privateDatabase.record(Record.ID("r"))
    #expect(saved != nil)
    try again.close()
  }

  @Test("threads that open and close are never told that it is locked")
  func openAndClose() throws {
    let folder = try TemporaryFolder()
    let options = options()
    let failures = inThreads(3) { _ in
      for _ in 0..<200 { try Container.open(Self.id, in: folder.path, options: options).close() }
    }
    #expect(failures.isEmpty, "\(failures)")
  }

  @Test("threads that open, write and close always write into an open database, and all that they wrote is there")
  func openWriteClose() throws {
    let folder = try TemporaryFolder()
    let options = options()
    let failures = inThreads(4) { number in
      for round in 0..<50 {
        let container = try Container.open(Self.id, in: folder.path, options: options)
        if round % 3 == number % 3 {
          try container.privateDatabase.write { try $0.save(.fresh("r\(number)-\(round)")) }
        }
        // Some are closed, some are released.
        if round % 5 != 0 { try container.close() }
      }
    }
    #expect(failures.isEmpty, "\(failures)")
    let container = try Container.open(Self.id, in: folder.path, options: options)
    let expected = (0..<4).reduce(0) { sum, number in sum + (0..<50).filter { $0 % 3 == number % 3 }.count }
    #expect(try container.privateDatabase.recordCount(in: .default) == expected)
    try container.privateDatabase.expectClean()
    try container.close()
  }

  @Test("a database that is all that was kept of a container keeps it: the next opening finds the same")
  func databaseKeepsContainer() throws {
    let folder = try TemporaryFolder()
    let database = try Container.open(Self.id, in: folder.path, options: options()).privateDatabase
    try database.put("a")
    let again = try Container.open(Self.id, in: folder.path, options: options())
    #expect(again.privateDatabase === database)
    try again.publicDatabase.put("b")
    // A close leaves open what is still referenced.
    try again.close()
    try database.put("c")
    #expect(try database.recordCount(in: .default) == 2)
    try again.setAccountStatus(.noAccount)
    #expect(database.accountStatus() == .noAccount)
  }

  @Test("what nobody holds any more is closed, and opens again")
  func nobody() throws {
    let folder = try TemporaryFolder()
    for number in 0..<5 {
      let database = try Container.open(Self.id, in: folder.path, options: options()).sharedDatabase
      #expect(try database.recordCount(in: .default) == 0)
      let container = try Container.open(Self.id, in: folder.path, options: options())
      try container.privateDatabase.put("r\(number)")
    }
    // The files are free: they may be opened by themselves.
    let path = folder.file("\(Self.id).private.daybook")
    let alone = try Database.open(at: path, options: options())
    #expect(try alone.recordCount(in: .default) == 5)
    try alone.close()
  }

  @Test("a backup of one of its databases leaves a container open for whoever opens it next")
  func backup() throws {
    let folder = try TemporaryFolder()
    let container = try Container.open(Self.id, in: folder.path, options: options())
    try container.privateDatabase.put("a")
    try container.privateDatabase.backup(to: folder.file("copy.daybook"))
    let again = try Container.open(Self.id, in: folder.path, options: options())
    #expect(again.privateDatabase === container.privateDatabase)
    // The copy is a database by itself.
    let copy = try Database.open(at: folder.file("copy.daybook"), options: options())
    #expect(copy.scope == nil)
    #expect(try copy.recordCount(in: .default) == 1)
    try copy.close()
    try again.close()
    try container.close()
  }

  @Test("a database of a container that somebody has closed is opened anew for the next one, whoever still holds it")
  func closedDatabase() throws {
    let folder = try TemporaryFolder()
    let first = try Container.open(Self.id, in: folder.path, options: options())
    var held: Database? = first.privateDatabase
    try held?.put("a")
    try first.privateDatabase.close()
    let second = try Container.open(Self.id, in: folder.path, options: options())
    #expect(second.privateDatabase !== held && second.publicDatabase === first.publicDatabase)
    try second.privateDatabase.put("b")
    // When the old one goes, the new one stays.
    try first.close()
    held = nil
    let third = try Container.open(Self.id, in: folder.path, options: options())
    #expect(third.privateDatabase === second.privateDatabase)
    #expect(try third.privateDatabase.recordCount(in: .default) == 2)
    try third.close()
    try second.close()
  }

  @Test("closing twice closes one's own opening, not that of somebody else")
  func closingTwice() throws {
    let folder = try TemporaryFolder()
    let first = try Container.open(Self.id, in: folder.path, options: options())
    let second = try Container.open(Self.id, in: folder.path, options: options())
    try first.close()
    try first.close()
    try second.privateDatabase.put("a")
    try second.close()
    #expect(failure { try second.privateDatabase.put("b") }?.code == .closed)
    try second.close()
    let third = try Container.open(Self.id, in: folder.path, options: options())
    #expect(third.privateDatabase !== second.privateDatabase)
    #expect(try third.privateDatabase.recordCount(in: .default) == 1)
    try third.close()
  }

  @Test("changes of the account arrive in the order in which they happened, the last one last, for everybody")
  func accountOrder() async throws {
    let folder = try TemporaryFolder()
    let container = try Container.open(Self.id, in: folder.path, options: options())
    let heard = (0..<2).map { _ in
      let stream = container.accountStatusChanges()
      return Task {
        var list: [AccountStatus] = []
        for await status in stream { list.append(status) }
        return list
      }
    }
    let all = AccountStatus.allCases
    let failures = inThreads(3) { number in
      for round in 0..<60 { try container.setAccountStatus(all[(number * 2 + round) % all.count]) }
    }
    #expect(failures.isEmpty, "\(failures)")
    let last = container.accountStatus()
    try container.close()
    for task in heard {
      let list = await task.value
      #expect(list.last == last)
      #expect(!list.isEmpty)
    }
    let again = try Container.open(Self.id, in: folder.path, options: options())
    #expect(again.accountStatus() == last, "what was told last is what is kept")
    try again.close()
  }
}
