import DaybookTesting
import Testing

@testable import DaybookEngine

// Files for the tests of recovery, with what the store in them held after each commit.

private let path = "/d/book"

/// A file, and what the store in it held after each of its commits.
struct Specimen {
  var bytes: [UInt8] = []
  var history: [Contents] = [[:]]
  var options: StoreOptions

  init(_ options: StoreOptions) { self.options = options }

  var newest: Contents { history[history.count - 1] }
  var frames: [FrameHeader] { get throws { try DaybookEngineTests.frames(of: bytes) } }

  func frames(_ kind: FrameHeader.Kind) throws -> [FrameHeader] { try frames.filter { $0.kind == kind } }

  /// A disk with this file, or with other bytes in its place.
  func disk(_ bytes: [UInt8]? = nil) -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 7, maximumFileByteCount: 1 << 20)
    disk.install(bytes ?? self.bytes, at: path)
    return disk
  }

  func open(_ disk: SimulatedDisk) throws -> KeyValueStore { try KeyValueStore(path, disk: disk, options: options) }

  /// Runs a body on the present file and keeps what is there afterwards. Without closing, everything written is kept.
  mutating func continued(closing: Bool = true, _ body: (KeyValueStore, inout Specimen) throws -> Void) throws {
    let disk = bytes.isEmpty ? SimulatedDisk(seed: 7, maximumFileByteCount: 1 << 20) : self.disk()
    let store = try open(disk)
    try body(store, &self)
    if closing { try store.close() }
    bytes = disk.bytes(of: path) ?? []
    if !closing { disk.stop() }
  }

  mutating func commit(_ store: KeyValueStore, _ changes: (key: String, value: [UInt8]?)...) throws {
    var contents = newest
    try store.write { transaction in
      for (key, value) in changes {
        if let value { try transaction.put(key, value) } else { try transaction.delete(key) }
        contents[key] = value
      }
    }
    history.append(contents)
  }

  /// Some commits with one in parts, in several generations of open and close.
  static func typical(_ options: StoreOptions, generations: Int = 2, commits: Int = 4) throws -> Specimen {
    var specimen = Specimen(options)
    var number = 0
    for _ in 0..<generations {
      try specimen.continued { store, specimen in
        for _ in 0..<commits {
          number += 1
          try specimen.commit(
            store, ("key \(number % 5)", filler(number, 20 + number)), ("other \(number)", filler(-number, 9)))
        }
        try specimen.commit(
          store, ("part one", filler(number, 700)), ("part two", filler(number + 1, 700)), ("key 1", nil))
      }
    }
    return specimen
  }

  /// What open, reading everything and checking say about some bytes. Throws where they are wrong.
  func outcome(of bytes: [UInt8], readOnly: Bool = false) throws -> Outcome {
    let disk = disk(bytes)
    let store: KeyValueStore
    do { store = try KeyValueStore(path, disk: disk, options: readOnly ? options.readOnly : options) } catch {
      if case .corrupt(let lost) = error { return .corrupt(lost) }
      return .refused
    }
    defer { try? store.close() }
    let recovery = store.store.recovery
    let found: (sequence: UInt64, contents: Contents)
    do { found = try store.snapshot() } catch is StoreError { return .unreadable } catch is PageFault { return .unreadable }
    let pin = try store.store.beginRead()
    defer { store.store.endRead(pin) }
    let check = try store.store.check(pin)
    guard found.sequence < UInt64(history.count), found.contents == history[Int(found.sequence)] else {
      throw Deviation("the store ends with commit \(found.sequence) and holds something else")
    }
    return .opened(Int(found.sequence), recovery, isClean: check.isClean && check.remarks.isEmpty)
  }

  enum Outcome {
    case refused
    case corrupt(ClosedRange<UInt64>)
    /// Opened, but a read throws.
    case unreadable
    case opened(Int, RecoveryReport, isClean: Bool)

    /// Whether anybody is told that something is amiss.
    var isTold: Bool {
      if case .opened(_, let recovery, let isClean) = self {
        return !isClean || !recovery.wasClosed || recovery.lostSequences != nil || recovery.basis == .olderCheckpoint
      }
      return true
    }
  }
}

extension Specimen {
  /// Two checkpoints with commits before, between and behind.
  static func twoCheckpoints() throws -> Specimen {
    var specimen = Specimen(.withoutCheckpoints())
    try specimen.continued { store, specimen in
      for round in 0..<3 {
        for number in 0..<12 {
          try specimen.commit(store, ("key \(round * 7 + number)", filler(round * 100 + number, 60)))
        }
        if round < 2 { try store.store.checkpoint() }
      }
    }
    return specimen
  }

  /// Three commits by one writer; frame numbers 1 to 3, each but the last covered by the next.
  static func threeCommits(closing: Bool) throws -> Specimen {
    var specimen = Specimen(.withoutCheckpoints())
    try specimen.continued(closing: closing) { store, specimen in
      for number in 1...3 { try specimen.commit(store, ("key \(number)", filler(number, 40))) }
    }
    return specimen
  }
}
