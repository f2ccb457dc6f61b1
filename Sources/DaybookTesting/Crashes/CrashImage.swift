import Daybook
import DaybookEngine

/// What holds for every file that a crash leaves. The verifiers check promises.
enum CrashImage {
  static func expectClean(_ database: Database) throws {
    let report = try database.check(.deep)
    if !report.isClean { throw CrashDeviation("the check finds \(report.findings)") }
  }

  /// An open for writing must have removed an unfinished compaction.
  static func expectNoLeftovers(of path: String, on image: SimulatedDisk) throws {
    let unfinished = Store.unfinishedPath(of: path)
    for leftover in [unfinished, unfinished + ".new"] where try image.exists(leftover) {
      throw CrashDeviation("\(leftover) was left behind")
    }
  }
}
