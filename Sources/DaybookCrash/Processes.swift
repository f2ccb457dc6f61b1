import DaybookTesting
import Foundation

/// Several processes on one disk, or several threads in one: `Scripts/crash.sh processes` and `threads`.
enum Processes {
  static func run(_ kind: ProcessSwarm.Kind, _ arguments: ArraySlice<String>) {
    if kind == .processes, arguments.first == "exhaustive" { return exhaustive(arguments.dropFirst()) }
    let swarm = ProcessSwarm(kind)
    Search(name: "\(kind)", unit: "points and images").run(arguments) { seed in
      LastWords.remember("\(kind), seed \(seed)")
      let finding = swarm.run(seed: seed, isShrunk: false)
      if let finding { say("seed \(seed): \(finding.message)") }
      return (finding.map { ProcessSwarm.shrink($0) }, swarm.counts.total, swarm.counts)
    }
  }
}

extension Processes {
  private static func exhaustive(_ arguments: ArraySlice<String>) {
    var length = 1
    var (from, to) = (1, Int.max)
    var rest = arguments
    while let option = rest.popFirst() {
      guard let value = rest.popFirst().flatMap({ Int($0) }), value >= 1 else { Main.usage() }
      switch option {
      case "--length": length = value
      case "--from": from = value
      case "--to": to = value
      default: Main.usage()
      }
    }
    let exhaustion = ProcessExhaustion(length: length)
    var findingCount = 0
    for number in exhaustion.cases.indices where (from...to).contains(number + 1) && findingCount < 3 {
      LastWords.remember("processes exhaustive, case \(number + 1)")
      if let finding = exhaustion.explore(number) {
        findingCount += 1
        say("case \(number + 1), \(exhaustion.cases[number]):\n\(finding)")
      }
      say(
        "\(number + 1) of \(exhaustion.cases.count)  \(exhaustion.cases[number]): \(exhaustion.counts.total) points and images")
    }
    say("two processes, scripts of at most \(length): \(exhaustion.counts); findings: \(findingCount)")
    exit(findingCount == 0 ? 0 : 1)
  }
}

/// What was being done when the process dies of a trap, which is a finding, too.
enum LastWords {
  private static let byteCount = 200
  // Safe: allocated once and never freed, so that a handler of signals may read it at any time.
  nonisolated(unsafe) private static let words: UnsafeMutablePointer<UInt8> = {
    let words = UnsafeMutablePointer<UInt8>.allocate(capacity: byteCount)
    unsafe words.initialize(repeating: 0x20, count: byteCount)
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT] {
      signal(number) { _ in
        _ = unsafe write(1, LastWords.words, LastWords.byteCount)
        _exit(3)
      }
    }
    return unsafe words
  }()

  static func remember(_ text: String) {
    var bytes = Array("died of a trap: \(text)".utf8.prefix(byteCount - 1))
    bytes += [UInt8](repeating: 0x20, count: byteCount - 1 - bytes.count) + [0x0A]
    // Safe: as many bytes as there is room for.
    for (index, byte) in bytes.enumerated() { unsafe words[index] = byte }
  }
}
