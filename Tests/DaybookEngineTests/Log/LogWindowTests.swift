import DaybookTesting
import Testing

@testable import DaybookEngine

// A log read through a window, beside the same log in one piece: both must say the same of any bytes.

@Suite("A log through a window")
struct LogWindowTests {
  /// Both readers of a file.
  private func readers(_ disk: SimulatedDisk) throws -> (whole: LogReader, window: LogReader) {
    let file = try disk.open(storePath, .readOnly)
    let byteCount = try file.byteCount()
    try file.map(upTo: byteCount)
    // Safe: mapped on the line above, and simulated files stay as long as their disk.
    let bytes = unsafe ByteView(file.base, count: byteCount)
    let salt = try FileHeader(bytes).salt
    return (LogReader(bytes, salt: salt), LogReader(LogWindow(file, byteCount: byteCount), salt: salt))
  }

  private func expectSame(_ disk: SimulatedDisk, _ what: String) throws {
    let (whole, window) = try readers(disk)
    #expect(whole.lastHeader() == window.lastHeader(), "\(what)")
    var offset: UInt64 = 0
    while let header = whole.nextHeader(from: offset) {
      let other = window.nextHeader(from: offset)
      #expect(header == other, "\(what)")
      guard header == other else { return }
      #expect(whole.isPayloadValid(header) == window.isPayloadValid(header), "\(what)")
      offset = header.offset + 8
    }
    #expect(window.nextHeader(from: offset) == nil, "\(what)")
    #expect(whole.header(at: offset) == window.header(at: offset))
    for start in [0, 4097, offset, whole.end / 2, whole.end] {
      #expect(whole.contentEnd(from: start) == window.contentEnd(from: start), "\(what)")
      #expect(whole.hasContent(in: start..<whole.end) == window.hasContent(in: start..<whole.end), "\(what)")
    }
    try expectSamePlan(try whole.plan(), try window.plan(), what)
    try expectSamePlan(try whole.planFromStart(), try window.planFromStart(), what)
    try expectSamePlan(try whole.plan(skipping: 1), try window.plan(skipping: 1), what)
    let plan = try whole.planFromStart()
    #expect(try operations(whole, plan) == operations(window, plan), "\(what)")
    try window.checkRead()
  }

  private func expectSamePlan(_ one: RecoveryPlan, _ other: RecoveryPlan, _ what: String) throws {
    #expect(one.skips == other.skips, "\(what)")
    var (one, other) = (one, other)
    // A dictionary is printed in any order.
    one.skips = [:]
    other.skips = [:]
    #expect("\(one)" == "\(other)", "\(what)")
  }

  private func operations(_ log: LogReader, _ plan: RecoveryPlan) throws -> [[UInt8]] {
    var result: [[UInt8]] = []
    do throws(LogFault) {
      try log.forEachCommit(of: plan) { (commit, operations) throws(LogFault) in
        for index in 0..<operations.count { result.append(try operations.bytes(index).array) }
      }
    } catch { result.append([]) }
    return result
  }

  private func filled(_ disk: SimulatedDisk, seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var options = StoreOptions.small(seed: seed)
    options.partByteCount = 20_000
    options.startsBatchesOnFreshSector = seed % 3 == 0
    let store = try KeyValueStore(storePath, disk: disk, options: options)
    for number in 0..<40 {
      try store.write { transaction in
        for index in 0..<Int.random(in: 1...6, using: &generator) {
          let byteCount = number == 7 ? 300_000 : Int.random(in: 0...2000, using: &generator)
          try transaction.put("\(number) \(index)", filler(number, byteCount))
        }
        if number % 9 == 4 {
          do {
            try transaction.savepoint {
              for index in 0..<30 { try transaction.put("never \(index)", filler(index, 900)) }; throw ChangedMyMind()
            }
          } catch is ChangedMyMind {}
        }
      }
    }
    if seed % 2 == 0 { try store.close() }
  }

  @Test("it says the same as the whole, of sound logs, of torn ones and of corrupt ones", arguments: testSeeds(1...3))
  func sameAsWhole(seed: UInt64) throws {
    let disk = SimulatedDisk(seed: seed, maximumFileByteCount: 16 << 20)
    try filled(disk, seed: seed)
    try expectSame(disk.killed(), "seed \(seed), killed")
    var generator = SeededGenerator(seed: seed)
    for round in 0..<2 as Range<UInt64> {
      let image = disk.crashed(seed: round)
      try expectSame(image, "seed \(seed), crash \(round)")
      let byteCount = try readers(image).whole.end
      for _ in 0..<2 { _ = image.corrupt(storePath, at: Int.random(in: 4096..<Int(byteCount), using: &generator), mask: 1) }
      try expectSame(image, "seed \(seed), crash \(round), corrupt")
    }
  }

  @Test("a file full of what looks like frames costs no more than its size, forwards and backwards")
  func manyMagics() throws {
    let disk = newDisk(8)
    try KeyValueStore(storePath, disk: disk, options: .small()).close()
    let file = try disk.open(storePath, .readWrite)
    let buffer = ByteBuffer(capacity: 1 << 20)
    while buffer.count < 1 << 20 { buffer.append(uint64: UInt64(FrameHeader.magic)) }
    try file.write(buffer.view, at: 8192)
    let window = try readers(disk).window
    disk.startTrace()
    #expect(window.nextHeader(from: 8192) == nil)
    _ = window.lastHeader()
    let byteCount = disk.trace.filter { $0.operation == .read }.reduce(0) { $0 + ($1.byteCount ?? 0) }
    #expect(byteCount < 32 << 20)
  }

  @Test("it holds one window and the longest operation, not the log")
  func boundedReads() throws {
    let disk = SimulatedDisk(seed: 4, maximumFileByteCount: 16 << 20)
    try filled(disk, seed: 4)
    let window = try readers(disk).window
    disk.startTrace()
    let plan = try window.planFromStart()
    #expect(try operations(window, plan).count > 60)
    let longest = disk.trace.filter { $0.operation == .read }.map { $0.byteCount ?? 0 }.max() ?? 0
    #expect(longest <= max(LogWindow.usualByteCount, 301_000))
  }

  @Test("a read that fails ends the walk with an error, and the next walk is sound", arguments: [1, 2, 3])
  func failedRead(call: Int) throws {
    let disk = SimulatedDisk(seed: 4, maximumFileByteCount: 16 << 20)
    try filled(disk, seed: 4)
    let (whole, window) = try readers(disk)
    disk.inject(SimulatedFault([.read], call: call))
    #expect(throws: DiskFailure.self) { _ = try window.planFromStart() }
    try expectSamePlan(try whole.plan(), try window.plan(), "after a failure")
  }
}
