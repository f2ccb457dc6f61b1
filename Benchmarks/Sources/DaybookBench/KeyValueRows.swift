import Foundation

/// The rows about keys and values: 16 to 24 random bytes, 150 bytes of value.
///
/// Load rows start from nothing each time. Rows that delete or mix work on a copy. All others share one loaded file for each
/// engine, closed and opened again after loading; rows that write to it come last, and write the same to every engine.
final class KeyValueRows {
  private let directory: String
  private let recordCount: UInt64
  private var shared: [KeyValueKind.Engine: (kind: KeyValueKind, store: any KeyValueEngine)] = [:]
  private var compacted: [KeyValueKind.Engine: any KeyValueEngine] = [:]
  private var loadedByteCounts: [KeyValueKind.Engine: Int] = [:]
  /// The store of the repetition, where each has one of its own.
  private var fresh: (any KeyValueEngine)?
  private var syncFloor: SyncFloor?
  private var memoryFloor: MemoryFloor?
  private var peakByteCount: Int?

  /// About 64 MB of log in Daybook, and of keys and values in all.
  static let killedPairCount: UInt64 = 350_000

  init(in directory: String, recordCount: Int) {
    self.directory = directory
    self.recordCount = UInt64(recordCount)
  }

  func close() throws {
    for (_, open) in shared { try open.store.close() }
    for (_, store) in compacted { try store.close() }
    shared = [:]
    compacted = [:]
  }

  func rows() -> [Row] {
    let unsynced = KeyValueKind.unsynced
    let synced = KeyValueKind.synced
    let all = Int(recordCount)
    let singles = min(4_000, all)
    let gets = min(1_000_000, all)
    return [
      load("kv-load-random-unsynced", "put new random keys, 1000 a transaction, nothing waits for the disk", unsynced),
      load(
        "kv-load-sequential-unsynced", "put new ascending keys, 1000 a transaction, nothing waits for the disk", unsynced,
        isAscending: true),
      load("kv-load-random-synced-1000", "put new random keys, 1000 a transaction, each transaction durable", synced),
      get("kv-get-own-snapshot", "get a random key, each get from a snapshot of its own", gets) {
        [recordCount] in try $0.get(gets, among: recordCount, round: $1, ownSnapshots: true)
      },
      get("kv-get-one-snapshot", "get a random key, all from one snapshot", gets) {
        [recordCount] in try $0.get(gets, among: recordCount, round: $1, ownSnapshots: false)
      },
      read("kv-get-two-threads", "get a random key from a snapshot of its own, two threads at once", gets, warms: true) {
        [recordCount] in try $0.get(gets, among: recordCount, round: $1, threadCount: 2)
      },
      read("kv-get-miss", "ask for a random key that is not there", gets) {
        [recordCount] in try $0.miss(gets, among: recordCount, round: $1)
      },
      read("kv-scan-arrival-order", "visit everything in key order, in a file written in random order", all) {
        store, _ in try store.scan()
      },
      scanCompacted(),
      read("kv-seek-100", "seek a random key and read it and the 99 behind it, in one snapshot", gets / 100) {
        [recordCount] in try $0.seek(gets / 100, length: 100, among: recordCount, round: $1)
      },
      openAfterClose(),
      openAfterKill(), openAfterKillOfUpdates(),
      fileLoaded(),
      fileCompacted(),
      memory(),
      onCopy(
        "kv-mixed-95-5", "get a random key from a snapshot of its own; every twentieth step commits a new value instead", gets
      ) {
        [recordCount] in try $0.mix(gets, among: recordCount, round: 500 + $1)
      },
      onCopy("kv-delete-half-unsynced", "delete every second key, 1000 a transaction, nothing waits for the disk", all / 2) {
        [recordCount] store, _ in
        try store.deleteEverySecond(of: recordCount, perTransaction: 1000)
        return 0
      },
      update("kv-update-100-unsynced", unsynced, round: 1, count: min(200_000, all)),
      update("kv-update-100-synced", synced, round: 10, count: min(50_000, all)),
      updateAll(unsynced),
      commit("kv-commit-unsynced-1", unsynced, threadCount: 1, part: 1, count: min(100_000, all)),
      commit("kv-commit-durable-1", synced, threadCount: 1, part: 2, count: singles),
      commit("kv-commit-durable-2", synced, threadCount: 2, part: 4, count: singles),
      commit("kv-commit-durable-8", synced, threadCount: 8, part: 3, count: singles),
      commit("kv-commit-durable-32", synced, threadCount: 32, part: 5, count: 2 * singles),
    ]
  }

  // MARK: loading

  private func load(_ name: String, _ summary: String, _ kinds: [KeyValueKind], isAscending: Bool = false) -> Row {
    Row(
      name: name, summary: summary,
      contenders: kinds.map { kind in
        let home = "\(directory)/\(name)-\(kind.engine.rawValue)-\(kind.promise.rawValue)"
        return Contender(
          kind.engine.rawValue, kind.promise.rawValue, operations: Int(recordCount),
          prepare: { [self] _ in fresh = try kind.open(in: home) },
          run: { [self] _ in
            try fresh?.put(0..<recordCount, round: 0, isAscending: isAscending, perTransaction: 1000)
            return 0
          },
          finish: { [self] _ in try endFresh(home) })
      }, countsDeviceBytes: true)
  }

  private func endFresh(_ home: String) throws {
    try fresh?.close()
    fresh = nil
    try Files.remove(home)
  }

  // MARK: reading

  /// Reading the shared file.
  /// - Parameter warms: the work is done once before it is measured.
  private func read(
    _ name: String, _ summary: String, _ count: Int, buffered: Bool = true, warms: Bool = false,
    _ body: @escaping (any KeyValueEngine, _ round: UInt64) throws -> UInt64
  ) -> Row {
    var kinds = KeyValueKind.readers
    if buffered { kinds.insert(KeyValueKind(.daybook, .buffered), at: 1) }
    return Row(
      name: name, summary: summary,
      contenders: kinds.map { kind in
        Contender(
          kind.engine.rawValue, kind.promise == .buffered ? "buffered" : "warm", operations: count,
          prepare: { [self] repetition in
            let store = try open(kind)
            if warms, repetition == 0 { _ = try body(store, 98) }
          },
          run: { [self] repetition in try body(open(kind), UInt64(repetition)) })
      }, hasEqualSums: true)
  }

  /// The same with what memory itself allows beside it.
  private func get(
    _ name: String, _ summary: String, _ count: Int,
    _ body: @escaping (any KeyValueEngine, _ round: UInt64) throws -> UInt64
  ) -> Row {
    var row = read(name, summary, count, body)
    let make = { [self] (_: Int) in
      memoryFloor = MemoryFloor(recordCount: Int(recordCount), recordByteCount: Workload.valueByteCount + 20)
    }
    let free = { [self] (_: Int) in memoryFloor = nil }
    row.floors = [
      Contender(
        "floor", "pointer-chase", isComparable: false, operations: count, prepare: make,
        run: { [self] _ in memoryFloor?.chase(count) ?? 0 }, finish: free),
      Contender(
        "floor", "memcpy", isComparable: false, operations: count, prepare: make,
        run: { [self] in memoryFloor?.copy(count, round: UInt64($0)) ?? 0 }, finish: free),
    ]
    return row
  }

  private func scanCompacted() -> Row {
    Row(
      name: "kv-scan-compacted", summary: "visit everything in key order, in a file that the engine has compacted",
      contenders: KeyValueKind.readers.map { kind in
        Contender(
          kind.engine.rawValue, "warm", operations: Int(recordCount),
          prepare: { [self] _ in _ = try openCompacted(kind) },
          run: { [self] _ in try openCompacted(kind).scan() })
      }, hasEqualSums: true,
      afterwards: { [self] in
        for (engine, store) in compacted {
          try store.close()
          try Files.remove(compactedHome(engine))
        }
        compacted = [:]
      })
  }

  // MARK: opening

  private func openAfterClose() -> Row {
    Row(
      name: "kv-open-after-close", summary: "open a file that was closed, and get one key",
      contenders: KeyValueKind.readers.map { kind in
        Contender(
          kind.engine.rawValue, kind.promise.rawValue, operations: 1,
          prepare: { [self] _ in try closeShared(kind.engine, loading: kind) },
          run: { [self] repetition in
            fresh = try kind.open(in: home(kind.engine))
            return try fresh?.get(1, among: recordCount, round: UInt64(repetition), ownSnapshots: true) ?? 0
          },
          finish: { [self] _ in
            try fresh?.close()
            fresh = nil
          })
      }, hasEqualSums: true, minimumRepetitionCount: 9)
  }

  private func openAfterKill() -> Row {
    Row(
      name: "kv-open-after-kill-64-mb",
      summary: "open what a killed process left, \(KeyValueRows.killedPairCount) keys with 64 MB of log, and get one key",
      contenders: KeyValueKind.readers.map { kind in
        let image = "\(directory)/killed-\(kind.engine.rawValue)"
        let home = image + "-opened"
        return Contender(
          kind.engine.rawValue, kind.promise.rawValue, operations: 1,
          prepare: { _ in
            if !FileManager.default.fileExists(atPath: image) {
              try Child.leaveLog(kind, in: image, pairCount: KeyValueRows.killedPairCount)
            }
            try Files.copy(image, to: home)
          },
          run: { [self] repetition in
            fresh = try kind.open(in: home)
            return try fresh?.get(
              1, among: KeyValueRows.killedPairCount, round: UInt64(repetition), ownSnapshots: true) ?? 0
          },
          finish: { [self] _ in try endFresh(home) })
      }, hasEqualSums: true)
  }

  /// Daybook alone: the others' logs hold other things than keys.
  private func openAfterKillOfUpdates() -> Row {
    Row(
      name: "kv-open-after-kill-updates",
      summary: "open all keys after a kill that left 64 MB of random updates behind their checkpoint, and get one key",
      contenders: [KeyValueKind(.daybook, .unsynced)].map { kind in
        let image = "\(directory)/killed-updates"
        let home = image + "-opened"
        return Contender(
          kind.engine.rawValue, kind.promise.rawValue, operations: 1,
          prepare: { [recordCount] _ in
            if !FileManager.default.fileExists(atPath: image) {
              try Child.leaveLogOfUpdates(kind, in: image, pairCount: recordCount)
            }
            try Files.copy(image, to: home)
          },
          run: { [self] repetition in
            fresh = try kind.open(in: home)
            return try fresh?.get(1, among: recordCount, round: UInt64(repetition), ownSnapshots: true) ?? 0
          },
          finish: { [self] _ in try endFresh(home) })
      })
  }

  // MARK: bytes

  private func fileLoaded() -> Row {
    Row(
      name: "kv-file-loaded", summary: "bytes of the files after a load in random order (time: open and close)",
      contenders: KeyValueKind.readers.map { kind in
        Contender(
          kind.engine.rawValue, kind.promise.rawValue, operations: Int(recordCount),
          prepare: { [self] _ in try closeShared(kind.engine, loading: kind) },
          run: { [self] _ in
            try kind.open(in: home(kind.engine)).close()
            return 0
          },
          weigh: { [self] _ in loadedByteCounts[kind.engine] })
      }, measure: .fileBytes)
  }

  private func fileCompacted() -> Row {
    Row(
      name: "kv-file-compacted", summary: "bytes of the files after a compaction (time: compacting and closing)",
      contenders: KeyValueKind.readers.map { kind in
        let copy = "\(directory)/copy-\(kind.engine.rawValue)"
        return Contender(
          kind.engine.rawValue, kind.promise.rawValue, operations: Int(recordCount),
          prepare: { [self] _ in
            try copyShared(kind, to: copy)
            fresh = try kind.open(in: copy)
          },
          run: { [self] _ in
            try fresh?.compact()
            try fresh?.close()
            fresh = nil
            return 0
          },
          weigh: { _ in try Files.byteCount(in: copy) }, finish: { _ in try Files.remove(copy) })
      }, measure: .fileBytes)
  }

  private func memory() -> Row {
    var contenders = KeyValueKind.readers.map { kind in
      Contender(
        kind.engine.rawValue, "warm", operations: 1,
        prepare: { [self] _ in try closeShared(kind.engine, loading: kind) },
        run: { [self] _ in
          peakByteCount = try Child.memoryOfReading(kind, in: home(kind.engine), recordCount: recordCount)
          return 0
        },
        weigh: { [self] _ in peakByteCount })
    }
    contenders.append(
      Contender(
        "floor", "process", isComparable: false, operations: 1,
        run: { [self] _ in
          peakByteCount = try Child.memoryOfNothing()
          return 0
        },
        weigh: { [self] _ in peakByteCount }))
    return Row(
      name: "kv-memory-reading",
      summary: "peak of anonymous memory of a process that opens, gets at random, scans and closes",
      contenders: contenders, measure: .anonymousBytes)
  }

  // MARK: writing

  /// Work on a copy of the shared file.
  private func onCopy(
    _ name: String, _ summary: String, _ count: Int,
    _ body: @escaping (any KeyValueEngine, _ round: UInt64) throws -> UInt64
  ) -> Row {
    Row(
      name: name, summary: summary,
      contenders: KeyValueKind.unsynced.map { kind in
        let copy = "\(directory)/copy-\(kind.engine.rawValue)"
        return Contender(
          kind.engine.rawValue, kind.promise.rawValue, operations: count,
          prepare: { [self] _ in
            try copyShared(kind, to: copy)
            let store = try kind.open(in: copy)
            try warm(store)
            fresh = store
          },
          run: { [self] repetition in try fresh.map { try body($0, UInt64(repetition)) } ?? 0 },
          finish: { [self] _ in try endFresh(copy) })
      }, hasEqualSums: true, countsDeviceBytes: true)
  }

  private func update(_ name: String, _ kinds: [KeyValueKind], round: UInt64, count: Int) -> Row {
    onShared(
      name, "put new values for random keys, 100 a transaction\(kinds[0].isSynced ? ", each durable" : "")", kinds, count
    ) { [recordCount] store, repetition, _ in
      try store.update(count, among: recordCount, round: round + repetition, perTransaction: 100)
    }
  }

  private func updateAll(_ kinds: [KeyValueKind]) -> Row {
    onShared("kv-update-all-unsynced", "put a new value for every key, 1000 a transaction", kinds, Int(recordCount)) {
      [recordCount] store, repetition, _ in
      try store.put(0..<recordCount, round: 100 + repetition, isAscending: false, perTransaction: 1000)
    }
  }

  private func commit(_ name: String, _ kinds: [KeyValueKind], threadCount: Int, part: UInt64, count: Int) -> Row {
    let threads = threadCount == 1 ? "one thread" : "\(threadCount) threads"
    var row = onShared(
      name, "commit one new key, \(kinds[0].isSynced ? "durable, " : "")\(threads)", kinds, count, fillsLog: kinds[0].isSynced
    ) { store, repetition, index in
      // New keys each time: a variant of the same engine writes into the same file.
      let first = part << 32 + index << 28 + repetition * UInt64(count)
      try store.commit(first..<first + UInt64(count), threadCount: threadCount)
    }
    guard kinds[0].isSynced, threadCount == 1 else { return row }
    row.floors = [
      Contender(
        "floor", "fdatasync", isComparable: false, operations: count,
        prepare: { [self] _ in syncFloor = try SyncFloor(in: directory, writeCount: count) },
        run: { [self] _ in
          try syncFloor?.append(count)
          return 0
        },
        finish: { [self] _ in
          syncFloor?.close()
          syncFloor = nil
        })
    ]
    return row
  }

  /// Writing to the shared file.
  /// - Parameter fillsLog: of an engine that writes over its log the log is as long as it gets.
  private func onShared(
    _ name: String, _ summary: String, _ kinds: [KeyValueKind], _ count: Int, fillsLog: Bool = false,
    _ body: @escaping (any KeyValueEngine, _ repetition: UInt64, _ index: UInt64) throws -> Void
  ) -> Row {
    Row(
      name: name, summary: summary,
      contenders: kinds.enumerated().map { index, kind in
        Contender(
          kind.engine.rawValue, kind.promise.rawValue, operations: count,
          prepare: { [self] repetition in
            let store = try open(kind)
            if fillsLog, repetition == 0 { try store.fillLog() }
          },
          run: { [self] repetition in
            try body(open(kind), UInt64(repetition), UInt64(index))
            return 0
          })
      }, countsDeviceBytes: true)
  }

  // MARK: files

  private func home(_ engine: KeyValueKind.Engine) -> String { "\(directory)/shared-\(engine.rawValue)" }

  private func compactedHome(_ engine: KeyValueKind.Engine) -> String { "\(directory)/compacted-\(engine.rawValue)" }

  /// The engine's loaded file, opened with a promise.
  private func open(_ kind: KeyValueKind) throws -> any KeyValueEngine {
    if let open = shared[kind.engine], open.kind == kind { return open.store }
    try closeShared(kind.engine, loading: kind)
    let store = try kind.open(in: home(kind.engine))
    shared[kind.engine] = (kind, store)
    try warm(store)
    return store
  }

  /// Makes sure that the engine's loaded file is there and nobody has it open.
  private func closeShared(_ engine: KeyValueKind.Engine, loading kind: KeyValueKind) throws {
    if let open = shared.removeValue(forKey: engine) { try open.store.close() }
    let home = home(engine)
    if FileManager.default.fileExists(atPath: home) { return }
    let loader = KeyValueKind(engine, .unsynced)
    var loading = try loader.open(in: home)
    try loading.put(0..<recordCount, round: 0, isAscending: false, perTransaction: 1000)
    try loading.close()
    loadedByteCounts[engine] = try Files.byteCount(in: home)
    if loader.hasLevels {
      loading = try loader.open(in: home)
      try loading.compact()
      try loading.close()
    }
  }

  private func copyShared(_ kind: KeyValueKind, to copy: String) throws {
    try closeShared(kind.engine, loading: kind)
    try Files.copy(home(kind.engine), to: copy)
  }

  private func openCompacted(_ kind: KeyValueKind) throws -> any KeyValueEngine {
    if let store = compacted[kind.engine] { return store }
    let home = compactedHome(kind.engine)
    try copyShared(kind, to: home)
    let compacting = try kind.open(in: home)
    try compacting.compact()
    try compacting.close()
    let store = try kind.open(in: home)
    compacted[kind.engine] = store
    _ = try store.scan()
    return store
  }

  /// Every engine starts warm.
  private func warm(_ store: any KeyValueEngine) throws {
    _ = try store.get(Int(min(recordCount, 200_000)), among: recordCount, round: 99, ownSnapshots: false)
  }
}
