import DaybookBenchmarking
import Foundation

/// What updates cost in space: every key is updated ten times over at random, and after each round stand the file, what lives
/// in it, what the device wrote for each logical byte, and how fast it went.
///
/// Compaction runs in the background, as it does in an application. At rest, after each round, the file must be at most twice
/// what lives and 64 MB.
enum SpaceReport {
  static func run(in directory: String, recordCount: Int, rounds: Int = 10) throws {
    let path = directory + "/space.daybook"
    let store = try EngineStore(path: path, durability: .relaxed, compactsItself: true)
    let device = DeviceWrites(of: directory)
    let logicalByteCount = recordCount * (Workload.valueByteCount + 20)
    print(
      "\(recordCount) keys of 16 to 24 bytes, values of \(Workload.valueByteCount); updates at random, 1,000 a transaction, unsynced\n"
    )
    print("| round | updates a second | file MB at rest | live MB | file / (2 × live + 64 MB) | device bytes / logical |")
    print("|--:|--:|--:|--:|--:|--:|")
    var worstShare = 0.0
    for round in 0...rounds {
      let before = device.byteCount()
      let start = DispatchTime.now().uptimeNanoseconds
      if round == 0 {
        try store.benchmarkLoad(0..<UInt64(recordCount), perTransaction: 1000)
      } else {
        try store.benchmarkUpdate(recordCount, among: UInt64(recordCount), round: UInt64(round), perTransaction: 1000)
      }
      let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
      let counts = try rest(store, path)
      sync()
      let written = device.byteCount().flatMap { after in before.map { after - $0 } }
      let share = Double(counts.file) / Double(2 * counts.live + 64 << 20)
      worstShare = max(worstShare, share)
      let factor = written.map { String(format: "%.1f", Double($0) / Double(logicalByteCount)) } ?? "–"
      print(
        String(
          format: "| %@ | %.0f | %.0f | %.0f | %.2f | %@ |", round == 0 ? "load" : "\(round)", Double(recordCount) / seconds,
          Double(counts.file) / 1e6, Double(counts.live) / 1e6, share, factor))
      fflush(nil)
    }
    try store.close()
    print("\nat rest at most \(String(format: "%.2f", worstShare)) of twice what lives and 64 MB")
  }

  /// Waits until no compaction is under way and the file has not changed for two seconds.
  private static func rest(_ store: EngineStore, _ path: String) throws -> (file: Int, live: Int) {
    var counts = try store.byteCounts()
    var unchanged = 0
    while unchanged < 20 {
      Thread.sleep(forTimeInterval: 0.1)
      let next = try store.byteCounts()
      let isCompacting = FileManager.default.fileExists(atPath: path + ".compacted")
      unchanged = next == counts && !isCompacting ? unchanged + 1 : 0
      counts = next
    }
    return counts
  }
}
