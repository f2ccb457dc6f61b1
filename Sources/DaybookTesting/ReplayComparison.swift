import DaybookEngine

/// Opens one file several times, each time with another bound for what a replay gathers, and compares the trees with those of a
/// replay that applies one operation at a time. Also makes tails that no writer would write.
package struct ReplayComparison {
  package struct Deviation: Error, CustomStringConvertible { package let description: String }

  /// The result of opening a file.
  package enum Outcome { case trees, fault }

  private let disk: SimulatedDisk
  private let path: String
  private let makeApplier: () -> any Applier
  private let changeOptions: (inout StoreOptions) -> Void

  /// - Parameter disk: holds a file that nobody writes any more; it is not changed.
  package init(
    _ disk: SimulatedDisk, path: String, options: @escaping (inout StoreOptions) -> Void = { _ in },
    applier: @escaping () -> any Applier
  ) {
    self.disk = disk.killed()
    self.path = path
    makeApplier = applier
    changeOptions = options
  }

  /// All at once, a few operations, one operation: sorting matters less and less.
  private static let byteCounts = [64 << 20, 1500, 1]

  /// Throws when a replay gives other trees than one by one, or gives trees where that one finds a fault.
  @discardableResult
  package func run() throws -> Outcome {
    let expected: Store
    do { expected = try open(replayByteCount: 0) } catch {
      for byteCount in ReplayComparison.byteCounts {
        guard let store = try? open(replayByteCount: byteCount) else { continue }
        try store.close()
        throw Deviation(description: "one by one it is \(error); gathering \(byteCount) bytes, nothing")
      }
      return .fault
    }
    for byteCount in ReplayComparison.byteCounts {
      let store: Store
      do { store = try open(replayByteCount: byteCount) } catch {
        throw Deviation(description: "one by one it opens; gathering \(byteCount) bytes it is \(error)")
      }
      if let difference = try difference(expected, store) {
        throw Deviation(description: "gathering \(byteCount) bytes: \(difference)")
      }
      try store.close()
    }
    try expected.close()
    return .trees
  }

  private func open(replayByteCount: Int) throws -> Store {
    var options = StoreOptions()
    options.isReadOnly = true
    options.hasBackgroundThread = false
    options.replayByteCount = replayByteCount
    changeOptions(&options)
    return try Store.open(path, disk: disk, options: options, applier: makeApplier())
  }

  private func difference(_ left: Store, _ right: Store) throws -> String? {
    let a = try left.beginRead()
    defer { left.endRead(a) }
    let b = try right.beginRead()
    defer { right.endRead(b) }
    for root in 0..<RootSet.count {
      if let found = try Store.firstDifference(a.root(root), a.reader, b.root(root), b.reader) {
        return "tree \(root): \(found)"
      }
    }
    // Pages may be fuller or emptier, but must hold the same.
    if a.operationByteCount != b.operationByteCount {
      return "\(a.operationByteCount) bytes live one by one, here \(b.operationByteCount)"
    }
    // What a check finds wrong with the log, it finds in both.
    let findings = try (left.check(a).findings, right.check(b).findings)
    return findings.0.map(\.description) == findings.1.map(\.description) ? nil : "\(findings)"
  }

  // MARK: tails that no writer wrote

  package typealias Commit = [(kind: UInt8, payload: [UInt8])]

  /// Appends commits to a file, and makes the file if there is none. Their operations are not applied to any tree.
  package static func invent(_ commits: [Commit], at path: String, on disk: SimulatedDisk, seed: UInt64 = 1) throws {
    var options = StoreOptions()
    options.hasBackgroundThread = false
    options.minimumLogBudgetByteCount = 1 << 30
    options.maximumLogBudgetByteCount = 1 << 30
    options.closeCheckpointByteCount = 1 << 30
    let generator = Locked(SeededGenerator(seed: seed))
    options.random = { generator.withLock { $0.next() } }
    if try !disk.exists(path) { try Store.create(path, disk: disk, options: options) }
    let store = try Store.open(path, disk: disk, options: options, applier: IdleApplier())
    for commit in commits {
      let transaction = try store.beginTransaction()
      do throws(StoreError) {
        for operation in commit {
          let start = transaction.beginOperation()
          transaction.payload.append(operation.payload)
          try transaction.endOperation(start, kind: operation.kind)
        }
      } catch {
        store.abandon(transaction)
        throw error
      }
      try store.wait(try store.commit(transaction))
    }
    try store.close()
  }

  /// The operations of each commit of a sound file.
  package static func operations(of image: [UInt8]) throws -> [Commit] {
    try Forgery.operations(of: image)
  }
}

/// Takes every operation and changes nothing.
private final class IdleApplier: Applier {
  func apply(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) {}
  func replay(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) {}
  func flush(_ changes: StoreTransaction) {}
  func flushPart(_ changes: StoreTransaction) -> Bool { false }
  func letGo(_ changes: StoreTransaction) {}
  func reset() {}
}
