import Daybook
import DaybookEngine

/// What holds of each file that a crash left, whoever was at work: promises are the business of the verifiers.
enum CrashImage {
  static func expectClean(_ database: Database) throws {
    let report = try database.check(.deep)
    if !report.isClean { throw CrashDeviation("the check finds \(report.findings)") }
  }

  /// An open for writing has removed what a compaction did not finish.
  static func expectNoLeftovers(of path: String, on image: SimulatedDisk) throws {
    let unfinished = Store.unfinishedPath(of: path)
    for leftover in [unfinished, unfinished + ".new"] where try image.exists(leftover) {
      throw CrashDeviation("\(leftover) was left behind")
    }
  }
}
