import Foundation

/// A search by seeds, one run after the other, until so much was looked at or three findings are there.
struct Search {
  let name: String
  /// What is counted.
  let unit: String

  /// - Parameter look: runs one seed; says what it found, how much has been looked at so far, and all counts.
  func run(
    _ arguments: ArraySlice<String>,
    _ look: (UInt64) -> (finding: (some CustomStringConvertible)?, count: Int, counts: some CustomStringConvertible)
  ) -> Never {
    let (seed, wanted) = Main.seedAndCount(arguments)
    var (findingCount, count, number) = (0, 0, UInt64(0))
    var counts = ""
    var nextReport = wanted / 20
    while count < wanted, findingCount < 3 {
      let seen = look(seed &+ number)
      (count, counts) = (seen.count, "\(seen.counts)")
      if let finding = seen.finding {
        findingCount += 1
        say("run \(seed &+ number), after \(count) \(unit):\n\(finding)")
      }
      number += 1
      if count >= nextReport {
        say("\(count) of \(wanted) \(unit)")
        nextReport += max(1, wanted / 20)
      }
    }
    say("\(name), seeds \(seed) to \(seed &+ number &- 1): \(counts); findings: \(findingCount)")
    exit(findingCount == 0 ? 0 : 1)
  }
}
