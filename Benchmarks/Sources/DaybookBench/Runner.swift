import Foundation

/// Measures rows: repetitions of all contenders are interleaved, so that whatever else the machine does meets all of them.
struct Runner {
  let recordCount: Int
  let repetitionCount: Int
  /// Called before each measurement: waits until the disk has what earlier work left behind.
  let settle: () -> Void
  /// Counts what the disk under the databases wrote.
  let device: DeviceWrites

  func measure(_ row: Row) throws -> [Outcome] {
    let contenders = row.contenders + row.floors
    var seconds = [[Double]](repeating: [], count: contenders.count)
    var processorSeconds = seconds
    var byteCounts = [[Int]](repeating: [], count: contenders.count)
    var deviceByteCounts = byteCounts
    let repetitionCount = max(repetitionCount, row.minimumRepetitionCount)
    for repetition in 0..<repetitionCount {
      var sums: [UInt64] = []
      for (index, contender) in contenders.enumerated() {
        try contender.prepare(repetition)
        settle()
        let deviceStart = row.countsDeviceBytes ? device.byteCount() : nil
        let processorStart = Runner.seconds(CLOCK_PROCESS_CPUTIME_ID)
        let start = Runner.seconds(CLOCK_MONOTONIC)
        let sum = try contender.run(repetition)
        let passed = Runner.seconds(CLOCK_MONOTONIC) - start
        seconds[index].append(contender.seconds?() ?? passed)
        processorSeconds[index].append(Runner.seconds(CLOCK_PROCESS_CPUTIME_ID) - processorStart)
        if let deviceStart {
          settle()
          if let deviceEnd = device.byteCount() { deviceByteCounts[index].append(deviceEnd - deviceStart) }
        }
        if let byteCount = try contender.weigh?(repetition) { byteCounts[index].append(byteCount) }
        try contender.finish(repetition)
        if index < row.contenders.count { sums.append(sum) }
      }
      if row.hasEqualSums, let first = sums.first, !sums.allSatisfy({ $0 == first }) {
        throw BenchmarkFault("the engines read different data: \(sums)")
      }
    }
    try row.afterwards()
    return contenders.enumerated().map { index, contender in
      let byteCount = Runner.median(byteCounts[index])
      return Outcome(
        row: row.name, records: recordCount, engine: contender.engine, variant: contender.variant,
        comparable: contender.isComparable, operations: contender.operationCount,
        medianSeconds: Runner.median(seconds[index]), minimumSeconds: seconds[index].min() ?? 0,
        maximumSeconds: seconds[index].max() ?? 0, runs: repetitionCount,
        processorSeconds: Runner.median(processorSeconds[index]), measure: row.measure,
        fileBytes: row.measure == .anonymousBytes ? nil : byteCount,
        anonymousBytes: row.measure == .anonymousBytes ? byteCount : nil,
        deviceBytes: Runner.median(deviceByteCounts[index]))
    }
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  private static func median(_ values: [Int]) -> Int? {
    values.isEmpty ? nil : Int(median(values.map(Double.init)))
  }

  private static func seconds(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
