import Foundation

/// Rows of use in which more than one thread is at work.
extension UseRows {
  /// The slowest get of a thousand while another thread changes records without a pause.
  func slowGet() -> Row {
    let count = min(recordCount, 100_000)
    return Row(
      name: "use-get-beside-writer",
      summary: "the 99.9th percentile of getting a field of a random record, of \(count), while another thread changes others, "
        + "100 a transaction",
      contenders: RecordKind.unsynced.map { kind in
        let home = home("use-get-beside-writer", kind)
        let key = "use-get-beside-writer" + kind.engine
        let percentile = Percentile()
        return Contender(
          kind.engine, kind.variant, operations: 1,
          prepare: { [self] _ in
            if engines[key] != nil { return }
            let engine = try kind.openUse(in: home)
            try engine.insertWide(count, fieldCount: 10)
            engines[key] = engine
          },
          run: { [self] repetition in
            guard let engine = engines[key] else { throw BenchmarkFault("nothing was made ready") }
            percentile.value = try UseRows.slowGet(engine, count, repetition)
            return 0
          },
          seconds: { percentile.value })
      },
      afterwards: { [self] in
        for kind in RecordKind.unsynced {
          try close("use-get-beside-writer" + kind.engine, home("use-get-beside-writer", kind))
        }
      })
  }

  private final class Percentile {
    var value: Double?
  }

  private final class Writing: @unchecked Sendable {
    private let lock = NSLock()
    private var isOver = false
    private let engine: any UseEngine
    private let failures = Failures()
    private let done = DispatchSemaphore(value: 0)

    init(_ engine: any UseEngine) { self.engine = engine }

    func start(among count: Int, _ repetition: Int) {
      let thread = Thread { [self] in
        var round = UInt64(repetition) * 1_000_000
        while !lock.withLock({ isOver }) {
          do { try engine.change(1_000, among: count, round: round, perTransaction: 100) } catch { failures.add(error) }
          round += 1
        }
        done.signal()
      }
      thread.start()
    }

    func end() throws {
      lock.withLock { isOver = true }
      done.wait()
      if let first = failures.first { throw first }
    }
  }

  /// Two seconds of gets; returns seconds.
  private static func slowGet(_ engine: any UseEngine, _ count: Int, _ repetition: Int) throws -> Double {
    let get = try engine.makeReader()
    var nanoseconds: [UInt64] = []
    nanoseconds.reserveCapacity(1 << 21)
    let writing = Writing(engine)
    writing.start(among: count, repetition)
    let start = DispatchTime.now().uptimeNanoseconds
    var now = start
    var step = 0
    var sum: UInt64 = 0
    while now - start < 2_000_000_000 {
      let number = Int(Workload.pick(step, among: UInt64(count), round: UInt64(repetition)))
      let before = DispatchTime.now().uptimeNanoseconds
      sum &+= try get(number)
      now = DispatchTime.now().uptimeNanoseconds
      nanoseconds.append(now - before)
      step += 1
    }
    try writing.end()
    if sum == 0 { throw BenchmarkFault("nothing was read") }
    nanoseconds.sort()
    return Double(nanoseconds[min(nanoseconds.count - 1, nanoseconds.count * 999 / 1000)]) / 1e9
  }

  func saveFromTasks() -> Row {
    let count = 10_000
    return Row(
      name: "use-save-10000-tasks", summary: "save a new record from a task of its own, durably; \(count) tasks at once",
      contenders: RecordKind.synced.map { kind in
        let home = home("use-save-tasks", kind)
        let key = "use-save-tasks" + kind.engine
        return Contender(
          kind.engine, kind.variant, operations: count,
          prepare: { [self] _ in if engines[key] == nil { engines[key] = try kind.openUse(in: home) } },
          run: { [self] repetition in
            try engines[key]?.saveFromTasks(repetition * count..<(repetition + 1) * count)
            return 0
          })
      },
      countsDeviceBytes: true,
      afterwards: { [self] in
        for kind in RecordKind.synced { try close("use-save-tasks" + kind.engine, home("use-save-tasks", kind)) }
      })
  }
}
