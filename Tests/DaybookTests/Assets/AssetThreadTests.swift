import Dispatch
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Writers, readers and a collector at one time, with threads of their own.

@Suite("assets: threads")
struct AssetThreadTests {
  @Test(
    "while others save, delete and collect, whoever holds a snapshot reads every content that it names",
    arguments: [true, false])
  func everybodyAtOnce(isRelaxed: Bool) throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook")) {
      $0.durability = isRelaxed ? .relaxed : .full
      $0.hasBackgroundThread = true
    }
    let problems = Locked<[String]>([])
    let counts = Locked((reads: 0, removed: 0))
    let isDone = Locked(false)
    let group = DispatchGroup()
    func run(_ work: @escaping @Sendable () throws -> Void) {
      let thread = BackgroundThread(name: "assets") {
        do { try work() } catch { problems.withLock { $0.append("\(error)") } }
        group.leave()
      }
      if thread == nil { problems.withLock { $0.append("no thread") } } else { return }
      group.leave()
    }
    let writers = DispatchGroup()
    for writer in 0..<3 {
      group.enter()
      writers.enter()
      run {
        defer { writers.leave() }
        for step in 0..<60 {
          let id = try Record.ID("r\((step + writer) % 4)")
          // The same few assets again and again, so that saves meet collections of what they save.
          let asset = Asset(data: AssetBench.content((step * 7 + writer) % 5))
          switch step % 4 {
          case 0: try database.put(id.name, asset: try database.prepare(asset))
          case 3: try database.write { try $0.delete(id) }
          default: try database.put(id.name, asset: asset)
          }
        }
      }
    }
    group.enter()
    run {
      while !isDone.withLock({ $0 }) {
        let removed = try database.collectAssets(grace: .zero).removedCount
        counts.withLock { $0.removed += removed }
      }
    }
    for _ in 0..<2 {
      group.enter()
      run {
        while !isDone.withLock({ $0 }) {
          try database.read { snapshot in
            for record in try snapshot.records(in: .default) {
              _ = try (record["file"] as Asset?)?.content()
              counts.withLock { $0.reads += 1 }
            }
          }
        }
      }
    }
    writers.wait()
    isDone.withLock { $0 = true }
    group.wait()
    #expect(problems.withLock { $0 } == [])
    let (reads, removed) = counts.withLock { $0 }
    #expect(reads > 0 && removed > 0, "\(reads) reads, \(removed) removed")
    try database.expectClean()
    try database.collectAssets(grace: .zero)
    let named = try database.reading { (view) throws(DatabaseError) in Set(try view.assets().keys) }
    #expect(try database.files() == named && database.assetLeftovers().isEmpty)
    try database.close()
  }

  @Test("the first contents of a new database, taken in by several threads at once, are all taken in")
  func firstContents() throws {
    let folder = try TemporaryFolder()
    for round in 0..<30 {
      let database = try Database.withFiles(at: folder.file("a\(round)"))
      let problems = Locked<[String]>([])
      DispatchQueue.concurrentPerform(iterations: 4) { writer in
        do {
          _ = try database.prepare(Asset(data: AssetBench.content(writer)))
        } catch { problems.withLock { $0.append("\(error)") } }
      }
      #expect(problems.withLock { $0 } == [])
      try database.close()
    }
  }
}
