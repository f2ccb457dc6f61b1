import Foundation

/// What an open database does that is not used: how often the process wakes up, its processor time, and what it writes.
enum IdleReport {
  static func run(in directory: String, seconds: Double = 10) throws {
    print("an open database of 1000 records, two seconds after its last save, \(Int(seconds)) seconds long\n")
    print("| engine | wake-ups | processor time | bytes written |")
    print("|---|--:|--:|--:|")
    try look("nothing", seconds)
    for kind in RecordKind.synced {
      let home = directory + "/idle-" + kind.engine
      let engine = try kind.openUse(in: home)
      try engine.insertWide(1_000, fieldCount: 10)
      try engine.saveOne(0)
      Thread.sleep(forTimeInterval: 2)
      try look(kind.engine, seconds)
      try engine.close()
    }
  }

  private static func look(_ name: String, _ seconds: Double) throws {
    let before = Use()
    Thread.sleep(forTimeInterval: seconds)
    let after = Use()
    let written = after.writtenByteCount.flatMap { end in before.writtenByteCount.map { Report.bytes(Double(end - $0)) } }
    // One is this thread's own.
    print(
      "| \(name) | \(after.wakeUpCount - before.wakeUpCount - 1) | \(Report.time(after.seconds - before.seconds)) | \(written ?? "–") |"
    )
  }

  private struct Use {
    let wakeUpCount: Int
    let seconds: Double
    /// By the system's count of this process; nil where it does not tell.
    let writtenByteCount: Int?

    init() {
      var usage = rusage()
      #if os(Linux)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      #else
        getrusage(RUSAGE_SELF, &usage)
      #endif
      wakeUpCount = Int(usage.ru_nvcsw)
      seconds =
        Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
      let text = try? String(contentsOfFile: "/proc/self/io", encoding: .utf8)
      let line = text?.split(separator: "\n").first { $0.hasPrefix("wchar:") }
      writtenByteCount = line?.split(separator: " ").last.flatMap { Int($0) }
    }
  }
}
