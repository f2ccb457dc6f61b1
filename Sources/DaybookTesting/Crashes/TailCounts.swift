import DaybookEngine

package struct TailCounts: Sendable, CustomStringConvertible {
  package var runs = 0
  package var torn = 0
  package var cut = 0
  package var withCorruption = 0
  package var corrupt = 0
  package var doubtful = 0
  package var unnoticed = 0
  package var salvaged = 0
  package var cutShort = 0
  package var tails: Int { torn + withCorruption }
  package init() {}

  package var description: String {
    "\(tails) tails of \(runs) logs: \(torn) as power loss leaves them, \(cut) of these lost commits, 0 called corrupt; "
      + "\(withCorruption) with corruption inside, \(corrupt) of these called corrupt, \(cutShort) cut short, \(doubtful) open to both answers, "
      + "\(unnoticed) in what open need not read; \(salvaged) salvaged"
  }
}
