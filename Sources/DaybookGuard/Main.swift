/// The guard against slow regressions that noise cannot trip, for `Scripts/guard.sh`.
///
/// It counts instead of measuring: instructions, by running under callgrind; allocations, with a counter in front of the
/// allocator (Benchmarks/Allocations); writes and syncs, on a disk that counts them. All of it is the same from run to run,
/// whatever else the machine does.
///
///     DaybookGuard run DIRECTORY                         walks the paths, writes DIRECTORY/counts
///     DaybookGuard report DIRECTORY THRESHOLDS           compares that, and callgrind's files beside it, with the thresholds
///                                              [--write] makes them the thresholds
///                                              [--debug] says how many times the thresholds a debug build costs
import Foundation

@main
struct Main {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      switch arguments.first {
      case "run" where arguments.count == 2: try GuardRun.run(in: arguments[1])
      case "report" where arguments.count == 3 || arguments.count == 4:
        let report = try GuardReport(directory: arguments[1])
        switch arguments.dropFirst(3).first {
        case nil: break
        case "--write": return try report.write(to: arguments[2])
        case "--debug": return try report.compareDebug(withRelease: arguments[2])
        case let option?: throw GuardFault("\(option): no such option")
        }
        if try !report.holds(against: arguments[2]) { exit(1) }
      default:
        complain("usage: DaybookGuard run DIRECTORY | report DIRECTORY THRESHOLDS [--write | --debug]")
        exit(2)
      }
    } catch {
      complain("DaybookGuard: \(error)")
      exit(2)
    }
  }

  private static func complain(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }
}

/// The guard cannot do its work.
struct GuardFault: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
