/// The long crash runs, for `Scripts/crash.sh`: prints findings as they come, shrunk, and the counts last.
import DaybookTesting
import Foundation

@main
struct Main {
  static func main() {
    var arguments = CommandLine.arguments.dropFirst()
    switch arguments.popFirst() {
    case "exhaustive": exhaustive(arguments)
    case "sum": sum(arguments)
    case "swarm": swarm(arguments)
    case "tails": tails(arguments)
    case "processes": Processes.run(.processes, arguments)
    case "threads": Processes.run(.threads, arguments)
    default: usage()
    }
  }

  static func usage() -> Never {
    say(
      "usage: exhaustive [--length N] [--from N] [--to M] [--state FILE] [--nested-every N] | sum FILE … | swarm SEED COUNT"
        + " | tails SEED COUNT | processes SEED COUNT | processes exhaustive [--length N] | threads SEED COUNT")
    exit(2)
  }

  private static func exhaustive(_ arguments: ArraySlice<String>) {
    var length = 3
    var (from, to) = (1, Int.max)
    var statePath: String?
    var depth = CrashDepth()
    var rest = arguments
    while let option = rest.popFirst() {
      guard let value = rest.popFirst() else { usage() }
      switch (option, Int(value)) {
      case ("--length", let number?) where number >= 0: length = number
      case ("--from", let number?) where number >= 1: from = number
      case ("--to", let number?): to = number
      case ("--state", _): statePath = value
      case ("--nested-every", let number?) where number >= 1: depth.nestedEvery = number
      default: usage()
      }
    }
    let exhaustion = CrashExhaustion(depth: depth)
    let total = exhaustion.sequenceCount(length: length)
    to = min(to, total)
    var progress = Progress(path: statePath, first: from - 1)
    if progress.next < from - 1 { usage() }
    if progress.next >= from { say("going on with sequence \(progress.next + 1) of \(total)") }
    let before = progress.counts
    var findingCount = 0
    while progress.next < to {
      let number = progress.next
      if let finding = exhaustion.explore(number) {
        findingCount += 1
        say("sequence \(number + 1), \(exhaustion.name(number)):\n\(finding)")
        // It stays where it is, so that the next run shows it again.
        break
      }
      progress.next += 1
      progress.counts = before
      progress.counts += exhaustion.counts
      progress.save()
      say("\(progress.next) of \(total)  \(exhaustion.name(number)): \(progress.counts.total) crashes")
    }
    let what = from == 1 && to == total ? "\(progress.next)" : "from \(from) through \(progress.next)"
    finish(progress.counts, findingCount, "sequences of at most \(length) operations: \(what) of \(total)")
  }

  /// The counts of several processes that shared the sequences. Each looked up images of its own only, so together they opened
  /// more than one would have.
  private static func sum(_ paths: ArraySlice<String>) {
    if paths.isEmpty { usage() }
    var counts = SearchCounts<CrashCounter>()
    for path in paths {
      guard let progress = Progress(reading: path) else {
        say("\(path) holds no progress of an exhaustive run")
        exit(2)
      }
      counts += progress.counts
      say("\(path): through sequence \(progress.next), \(progress.counts.total) crashes")
    }
    say("together: \(counts)")
  }

  private static func swarm(_ arguments: ArraySlice<String>) {
    let swarm = CrashSwarm()
    Search(name: "swarm", unit: "crashes").run(arguments) { (swarm.run(seed: $0), swarm.counts.total, swarm.counts) }
  }

  private static func tails(_ arguments: ArraySlice<String>) {
    let swarm = TailSwarm()
    Search(name: "tails", unit: "tails").run(arguments) { (swarm.run(seed: $0), swarm.counts.total, swarm.counts) }
  }

  static func seedAndCount(_ arguments: ArraySlice<String>) -> (seed: UInt64, count: Int) {
    let numbers = arguments.compactMap { UInt64($0) }
    guard numbers.count == 2, arguments.count == 2 else { usage() }
    return (numbers[0], Int(clamping: numbers[1]))
  }

  private static func finish(_ counts: SearchCounts<CrashCounter>, _ findingCount: Int, _ what: String) -> Never {
    say("\(what): \(counts); findings: \(findingCount)")
    exit(findingCount == 0 ? 0 : 1)
  }
}

/// Where an exhaustive run stands, in a file of one line, so that an interrupted one goes on.
private struct Progress {
  var next = 0
  var counts = SearchCounts<CrashCounter>()
  private let path: String?

  /// What the file says, or the beginning when there is none yet.
  init(path: String?, first: Int) {
    if let path, let known = Progress(reading: path) {
      self = known
    } else {
      self.path = path
      next = first
    }
  }

  /// Nil when there is no such file.
  init?(reading path: String) {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    guard let next = numbers.first, let counts = SearchCounts<CrashCounter>(numbers: numbers.dropFirst()) else { return nil }
    self.path = path
    self.next = next
    self.counts = counts
  }

  func save() {
    guard let path else { return }
    let text = ([next] + counts.numbers).map(String.init).joined(separator: " ") + "\n"
    do { try text.write(toFile: path, atomically: true, encoding: .utf8) } catch { say("cannot save progress: \(error)") }
  }
}

/// A line, at once: `print` would keep it back from a pipe, and somebody watches the progress.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
