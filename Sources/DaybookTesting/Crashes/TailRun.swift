import DaybookEngine

/// One log as it is written, and its tails at each disk call.
@safe final class TailRun: @unchecked Sendable {
  typealias Contents = [[UInt8]: [UInt8]]
  static let path = "/d/book"
  let seed: UInt64
  let operations: [TailOperation]
  let tailsPerCall: Int
  var counts = SearchCounts<TailCounter>()
  var finding: TailFinding?
  private var disk: SimulatedDisk
  private var store: KeyValueStore?
  private var history: [Contents] = [[:]]
  private var acknowledged = 0
  /// Whether the file is a log without damage. False while recovery runs, and after it has skipped a frame that a crash
  /// damaged.
  private var isWhole = false
  private var tickets: [Store.Ticket] = []
  private var openCount: UInt64 = 0
  private var callCount = 0
  private var number = 0
  private var appendsDuringSync = false
  /// The log before its last frames were taken back. Until that is durable, a crash brings some of them back, and what they prove
  /// is still true.
  private var former: (frames: [WrittenFrame], bytes: [UInt8])?
  private var latest: (frames: [WrittenFrame], bytes: [UInt8]) = ([], [])
  /// Every content that the sector of the closed length has had.
  private var sectors: Set<[UInt8]> = []

  init(seed: UInt64, _ operations: [TailOperation], tailsPerCall: Int, ignoresSyncs: Bool) {
    self.seed = seed
    self.operations = operations
    self.tailsPerCall = tailsPerCall
    disk = SimulatedDisk(seed: seed, sectorByteCount: seed % 5 == 0 ? 4096 : 512, maximumFileByteCount: 1 << 20)
    if ignoresSyncs { disk.ignoreSyncs() }
  }

  var bytes: [UInt8] { disk.bytes(of: Self.path) ?? [] }

  func recycle(_ blocks: [UInt8]) { disk.recycle(blocks) }

  private func options(_ open: UInt64) -> StoreOptions {
    var options = StoreOptions()
    options.hasBackgroundThread = false
    options.readerLimit = 256
    options.lockTimeoutNanoseconds = 0
    options.minimumLogBudgetByteCount = seed % 2 == 0 ? 16 << 10 : 1 << 20
    options.maximumLogBudgetByteCount = options.minimumLogBudgetByteCount
    options.closeCheckpointByteCount = 4 << 10
    options.partByteCount = 700
    options.poisonsFreedMemory = true
    options.reserveByteCount = seed % 4 == 1 ? 600 : 0
    options.startsBatchesOnFreshSector = seed % 3 == 0
    let generator = Locked(SeededGenerator(seed: seed &* 31 &+ open))
    options.random = { generator.withLock { $0.next() } }
    return options
  }

  func run() {
    observe()
    do {
      try open()
      for operation in operations where finding == nil {
        do { try perform(operation) } catch {
          guard disk.isStopped else { throw error }
          try move(to: disk.killed())
        }
      }
    } catch { fail("the run itself throws \(error)", nil, []) }
    look()
    leave()
  }

  private func observe() {
    disk.observe { [unowned self] call throws(DiskFailure) in
      callCount += 1
      look()
      guard appendsDuringSync, call.operation == .sync, !disk.isStopped else { return }
      appendsDuringSync = false
      do { try commit(key: 3, count: 1, byteCount: 40) } catch {
        if !disk.isStopped { fail("append during a sync throws \(error)", nil, []) }
      }
    }
  }

  private func leave() {
    disk.observe(nil)
    disk.stop()
    store = nil
  }

  private func open() throws {
    openCount += 1
    isWhole = false
    former = nil
    latest = ([], [])
    let store = try KeyValueStore(Self.path, disk: disk, options: options(openCount))
    self.store = store
    let (sequence, contents) = try Self.contents(store)
    guard sequence >= acknowledged, sequence < history.count, contents == history[sequence] else {
      throw CrashDeviation("opened at \(sequence), expected \(acknowledged) to \(history.count - 1)")
    }
    history.removeLast(history.count - 1 - sequence)
    acknowledged = sequence
    tickets = []
    let frames = WrittenFrame.all(of: disk.bytes(of: Self.path) ?? [])
    let pin = try store.store.beginRead()
    defer { store.store.endRead(pin) }
    let check = try store.store.check(pin)
    isWhole =
      check.isClean && check.remarks.isEmpty && UInt64(sequence) == frames.last?.sequence ?? 0
      && frames.enumerated().allSatisfy { $0.element.number == UInt64($0.offset + 1) }
  }

  private func perform(_ operation: TailOperation) throws {
    guard let store else { return }
    switch operation {
    case .commit(let key, let count, let byteCount): try commit(key: key, count: count, byteCount: byteCount)
    case .wait(let appends):
      guard let ticket = tickets.last else { return }
      appendsDuringSync = appends
      // Reset before a sync by a holder of the turn: the append would wait for itself.
      defer { appendsDuringSync = false }
      tickets = []
      try store.store.wait(ticket)
      acknowledged = max(acknowledged, Int(ticket.sequence))
    case .abort(let count):
      let transaction = try store.store.beginTransaction()
      defer { store.store.abandon(transaction) }
      for index in 0..<count { try put(KeyValueTransaction(transaction), key: 20 + index, byteCount: 300) }
    case .note: store.store.appendNote()
    case .zeros: store.store.prepareZeros()
    case .checkpoint: try store.store.checkpoint()
    case .close:
      try store.close()
      acknowledged = history.count - 1
      try open()
    case .kill: try move(to: disk.killed())
    case .dieSoon(let calls): disk.stop(atCall: disk.callCount + calls, tearsWrite: true)
    case .powerLoss: try move(to: disk.crashed(seed: seed &+ UInt64(callCount)))
    }
  }

  private func move(to next: SimulatedDisk) throws {
    leave()
    disk = next
    observe()
    try open()
  }

  private func commit(key: Int, count: Int, byteCount: Int) throws {
    guard let store else { return }
    var contents = history[history.count - 1]
    let transaction = try store.store.beginTransaction()
    do {
      for index in 0..<count {
        let (key, value) = try put(KeyValueTransaction(transaction), key: key + index, byteCount: byteCount)
        contents[key] = value
      }
    } catch {
      // Give back the turn, or the next thread waits forever.
      store.store.abandon(transaction)
      throw error
    }
    history.append(contents)
    tickets.append(try store.store.commit(transaction))
  }

  @discardableResult
  private func put(
    _ transaction: borrowing KeyValueTransaction, key: Int, byteCount: Int
  ) throws -> (key: [UInt8], value: [UInt8]) {
    number += 1
    let keyBytes = [UInt8("k".utf8.first ?? 0), UInt8(key)]
    let value = (0..<byteCount + 1).map { UInt8(truncatingIfNeeded: number &* 37 &+ $0) }
    let transaction = transaction.transaction
    try keyBytes.withView { (keyView: ByteView) throws -> Void in
      try value.withView { (valueView: ByteView) throws -> Void in
        try KeyValueTransaction(transaction).put(keyView, valueView)
      }
    }
    return (keyBytes, value)
  }

  private static func contents(_ store: KeyValueStore) throws -> (sequence: Int, contents: Contents) {
    var contents: Contents = [:]
    try store.scan { key, value in contents[key.array] = value.array }
    let pin = try store.store.beginRead()
    defer { store.store.endRead(pin) }
    return (Int(pin.sequence), contents)
  }

  private func fail(_ message: String, _ choice: CrashChoice?, _ corruption: [String]) {
    guard finding == nil else { return }
    let frames = WrittenFrame.all(of: disk.bytes(of: Self.path) ?? []).map(\.description)
    finding = TailFinding(
      message: message, seed: seed, operations: operations, call: callCount, choice: choice, corruption: corruption,
      frames: frames)
  }

  // MARK: tails

  /// Examines the tails that power loss leaves now, each also with corruption inside.
  private func look() {
    guard finding == nil, isWhole, let written = disk.bytes(of: Self.path) else { return }
    let frames = WrittenFrame.all(of: written)
    remember(frames, written)
    // A sector that is half written, because the disk takes a write in pieces, says nothing.
    if Self.tellsLength(written) { sectors.insert(Self.sector(of: written)) }
    let pending = disk.pendingChanges
    var generator = SeededGenerator(seed: seed &* 977 &+ UInt64(callCount))
    for _ in 0..<tailsPerCall {
      var choice = CrashChoice.random(pending, &generator)
      // Names have their own tests; here the file always exists.
      choice.names = NumberSet(0..<pending.nameCount)
      let image = disk.crashed(choice)
      guard let found = image.bytes(of: Self.path) else { return fail("the file is gone", choice, []) }
      examineTorn(image, judge(frames, written, found), choice)
      image.stop()
      if !frames.isEmpty { examineRotten(found, written, frames, choice, &generator) }
      if finding != nil { return }
    }
  }

  /// Keeps the longer log for as long as the shorter one is its beginning.
  private func remember(_ frames: [WrittenFrame], _ written: [UInt8]) {
    let known = former?.frames ?? latest.frames
    if !frames.elementsEqual(known.prefix(frames.count), by: ==) {
      former = nil
    } else if former == nil, frames.count < known.count {
      former = latest
    }
    latest = (frames, written)
  }

  private func judge(_ frames: [WrittenFrame], _ written: [UInt8], _ found: [UInt8]) -> TailJudge {
    if let former {
      let judge = TailJudge(former.frames, written: former.bytes, found: found, leastEnd: leastEnd(found))
      if judge.hasHeader(after: frames.count) { return judge }
    }
    return TailJudge(frames, written: written, found: found, leastEnd: leastEnd(found))
  }

  private static func sector(of bytes: [UInt8]) -> [UInt8] {
    Array(bytes[min(2048, bytes.count)..<min(2560, bytes.count)])
  }

  private static func tellsLength(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= FileHeader.byteCount else { return false }
    let page = ByteBuffer(capacity: FileHeader.byteCount)
    page.append(Array(bytes[..<FileHeader.byteCount]))
    return ClosedLength.read(page.view, salt: page.view.uint64(at: 40)) != nil
  }

  /// The length of the last close in an image; FORMAT.md §2. A sector that a crash tore says nothing.
  private func leastEnd(_ found: [UInt8]) -> Int {
    let sector = Self.sector(of: found)
    guard sector.count == 512, sectors.contains(sector) else { return 0 }
    return (0..<8).reduce(0) { $0 | Int(sector[$1]) << (8 * $1) }
  }

  private func examineTorn(_ image: SimulatedDisk, _ judge: TailJudge, _ choice: CrashChoice) {
    counts[.torn] += 1
    do {
      let store = try KeyValueStore(Self.path, disk: image, options: options(99))
      let (sequence, contents) = try Self.contents(store)
      if store.store.recovery.lostSequences != nil { return fail("a torn tail is called corrupt", choice, []) }
      guard sequence >= acknowledged else {
        return fail("commit \(acknowledged) was acknowledged, the log ends with \(sequence)", choice, [])
      }
      guard sequence < history.count, contents == history[sequence] else {
        return fail("the store does not hold what commit \(sequence) left", choice, [])
      }
      if sequence < history.count - 1 { counts[.cut] += 1 }
      let verdicts = judge.verdicts
      guard verdicts.contains(.ends(UInt64(sequence))) else {
        return fail("the log ends with \(sequence), the judge says \(verdicts)", choice, [])
      }
    } catch StoreError.corrupt(let lost) {
      fail("a torn tail is called corrupt: \(lost)", choice, [])
    } catch { fail("open throws \(error)", choice, []) }
  }

  private func examineRotten(
    _ torn: [UInt8], _ written: [UInt8], _ frames: [WrittenFrame], _ choice: CrashChoice, _ generator: inout SeededGenerator
  ) {
    var found = torn
    let corruption = damage(&found, frames, &generator)
    if corruption.isEmpty { return }
    counts[.withCorruption] += 1
    let judge = judge(frames, written, found)
    let verdicts = judge.verdicts
    if verdicts.count > 1 { counts[.doubtful] += 1 }
    let image = SimulatedDisk(seed: seed, maximumFileByteCount: 1 << 20)
    image.install(found, at: Self.path)
    defer { image.stop() }
    do {
      let store = try KeyValueStore(Self.path, disk: image, options: options(99))
      let sequence = store.store.recovery.lostSequences == nil ? try sequenceShown(store) : 0
      guard verdicts.contains(.ends(sequence)) else {
        return fail("the log ends with \(sequence), the judge says \(verdicts)", choice, corruption)
      }
      do {
        let contents = try Self.contents(store).contents
        guard contents == history[Int(sequence)] else {
          return fail("the store does not hold what commit \(sequence) left", choice, corruption)
        }
      } catch {
        // Damage in a body or page that the open did not need to read: no wrong data, and the check reports it.
        guard judge.hasDamagedData(through: sequence) || judge.hasDamagedPages else {
          return fail("reading throws \(error)", choice, corruption)
        }
        counts[.unnoticed] += 1
        let pin = try store.store.beginRead()
        defer { store.store.endRead(pin) }
        if try store.store.check(pin).isClean {
          fail("reading throws \(error), and the check finds nothing", choice, corruption)
        }
      }
    } catch StoreError.corrupt(let lost) {
      counts[.corrupt] += 1
      let sequence = lost.lowerBound
      guard verdicts.contains(.corrupt(sequence)) else {
        return fail("called corrupt with \(lost) lost, the judge says \(verdicts)", choice, corruption)
      }
      if let newest = judge.newestLost(sequence), lost.upperBound != newest {
        return fail("commit \(sequence) alone is damaged, \(lost) are called lost", choice, corruption)
      }
      examineReader(image, found, lost, judge, choice, corruption)
    } catch StoreError.cutShort {
      counts[.cutShort] += 1
      examineCut(image, found, judge, choice, corruption)
    } catch { fail("open throws \(error)", choice, corruption) }
  }

  /// A corrupt file is read up to the damage, and not one byte of it changes.
  private func examineReader(
    _ image: SimulatedDisk, _ found: [UInt8], _ lost: ClosedRange<UInt64>, _ judge: TailJudge, _ choice: CrashChoice,
    _ corruption: [String]
  ) {
    guard image.bytes(of: Self.path) == found else { return fail("a corrupt file was written to", choice, corruption) }
    var readOnly = options(99)
    readOnly.isReadOnly = true
    do {
      let store = try KeyValueStore(Self.path, disk: image, options: readOnly)
      guard store.store.recovery.lostSequences == lost else {
        return fail("a reader is not told what is lost", choice, corruption)
      }
      do {
        let (sequence, contents) = try Self.contents(store)
        guard UInt64(sequence) + 1 == lost.lowerBound, contents == history[sequence] else {
          return fail("a reader is shown something else than commit \(lost.lowerBound - 1)", choice, corruption)
        }
      } catch {
        let isExplained = judge.hasDamagedData(through: lost.lowerBound - 1) || judge.hasDamagedPages
        if !isExplained { return fail("a reader is told \(error)", choice, corruption) }
      }
    } catch { fail("a reader cannot open it: \(error)", choice, corruption) }
    examineSalvage(image, judge, choice, corruption)
  }

  /// The same for a file without its last frames, which a close had recorded as durable.
  private func examineCut(
    _ image: SimulatedDisk, _ found: [UInt8], _ judge: TailJudge, _ choice: CrashChoice, _ corruption: [String]
  ) {
    guard image.bytes(of: Self.path) == found else { return fail("a file that was cut was written to", choice, corruption) }
    var readOnly = options(99)
    readOnly.isReadOnly = true
    do {
      let store = try KeyValueStore(Self.path, disk: image, options: readOnly)
      guard store.store.recovery.missingByteCount > 0 else { return fail("a reader is not told of a cut", choice, corruption) }
      let sequence = try sequenceShown(store)
      guard judge.verdicts.contains(.cut(sequence)) else {
        return fail("called cut behind commit \(sequence), the judge says \(judge.verdicts)", choice, corruption)
      }
      do {
        guard try Self.contents(store).contents == history[Int(sequence)] else {
          return fail("a reader of a cut file is shown something else than commit \(sequence)", choice, corruption)
        }
      } catch {
        let isExplained = judge.hasDamagedData(through: sequence) || judge.hasDamagedPages
        if !isExplained { return fail("a reader of a cut file is told \(error)", choice, corruption) }
      }
    } catch { fail("a reader cannot open a cut file: \(error)", choice, corruption) }
    examineSalvage(image, judge, choice, corruption)
  }

  /// Salvage must read every undamaged acknowledged commit, and name the others.
  private func examineSalvage(
    _ image: SimulatedDisk, _ judge: TailJudge, _ choice: CrashChoice, _ corruption: [String]
  ) {
    counts[.salvaged] += 1
    var whole: Set<UInt64> = []
    var wrong: UInt64?
    do {
      let reader = try SalvageReader(Self.path, disk: image)
      try reader.forEachCommit(progress: { _ in true }) { commit in
        if commit.isWhole { whole.insert(commit.sequence) }
        // Parts in front of a cut: it is unknown whether their transaction was completed or rolled back.
        if !commit.isWhole, reader.losses.missingByteCount > 0 { return }
        guard commit.sequence < UInt64(history.count) else { return wrong = commit.sequence }
        for index in 0..<commit.count {
          guard let operation = commit.operation(index), holds(operation, in: history[Int(commit.sequence)]) else {
            return wrong = commit.sequence
          }
        }
      }
      if let wrong { return fail("salvage reads of commit \(wrong) what it did not write", choice, corruption) }
      let (held, others) = judge.acknowledgedCommits
      guard held.isSubset(of: whole) else {
        return fail("salvage misses commits \(held.subtracting(whole).sorted()), which are whole", choice, corruption)
      }
      let named = reader.losses.sequences
      for sequence in others where !named.contains(where: { $0.contains(sequence) }) {
        return fail("salvage does not say that commit \(sequence) is lost", choice, corruption)
      }
      for sequence in whole where named.contains(where: { $0.contains(sequence) }) {
        return fail("salvage read commit \(sequence) and calls it lost", choice, corruption)
      }
    } catch { fail("salvage throws \(error)", choice, corruption) }
  }

  /// Whether the commit that left `contents` may contain this put; no commit of a run puts a key twice.
  private func holds(_ operation: ByteView, in contents: Contents) -> Bool {
    let payload = Operation.payload(operation)
    guard payload.count >= 2, payload.count >= 2 + Int(payload.uint16(at: 0)) else { return false }
    let keyEnd = 2 + Int(payload.uint16(at: 0))
    return contents[payload.slice(2..<keyEnd).array] == payload.dropFirst(keyEnd).array
  }

  private func sequenceShown(_ store: KeyValueStore) throws -> UInt64 {
    let pin = try store.store.beginRead()
    defer { store.store.endRead(pin) }
    return pin.sequence
  }

  /// Flips bits, or clears or fills a stretch, mostly inside frames that matter; or cuts the file.
  private func damage(_ bytes: inout [UInt8], _ frames: [WrittenFrame], _ generator: inout SeededGenerator) -> [String] {
    var corruption: [String] = []
    if Int.random(in: 0..<8, using: &generator) == 0, bytes.count > 4096 {
      let end = Int.random(in: 4096..<bytes.count, using: &generator)
      bytes.removeLast(bytes.count - end)
      return ["cut at \(end)"]
    }
    for _ in 0..<(Int.random(in: 0..<5, using: &generator) == 0 ? 2 : 1) {
      let data = frames.filter { $0.kind <= 2 }
      let isAny = Int.random(in: 0..<3, using: &generator) == 0
      guard let frame = (isAny ? frames : data).randomElement(using: &generator) else { continue }
      let isHeader = Int.random(in: 0..<3, using: &generator) == 0
      let start = Int.random(in: frame.offset..<(isHeader ? frame.offset + 96 : frame.end), using: &generator)
      guard start < bytes.count else { continue }
      switch Int.random(in: 0..<6, using: &generator) {
      case 0, 1:
        let end = min(start + Int.random(in: 1..<700, using: &generator), bytes.count)
        let isZero = Bool.random(using: &generator)
        for index in start..<end { bytes[index] = isZero ? 0 : UInt8(truncatingIfNeeded: generator.next()) }
        corruption.append("bytes \(start)..<\(end) \(isZero ? "cleared" : "overwritten")")
      default:
        let mask = UInt8(1) << UInt8(Int.random(in: 0..<8, using: &generator))
        bytes[start] ^= mask
        corruption.append("byte \(start), mask \(mask)")
      }
    }
    return corruption
  }
}
