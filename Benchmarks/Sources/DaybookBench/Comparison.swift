import Foundation

/// Daybook in one row against the best of the engines that keep the same promise, and against what the machine allows.
struct Comparison {
  enum Verdict { case wins, loses, open }

  let ours: Outcome
  let best: Outcome?
  /// The floors of the row, the cheapest last.
  let floors: [Outcome]
  /// How many times better Daybook is: throughput over throughput, bytes under bytes.
  let ratio: Double?
  /// Open where the runs of one reach into those of the other.
  let verdict: Verdict

  init?(_ outcomes: [Outcome]) {
    guard let ours = Comparison.ours(outcomes), let ourCost = ours.cost else { return nil }
    self.ours = ours
    best =
      outcomes.filter { $0.comparable && $0.engine != "daybook" && $0.cost != nil }
      .min { ($0.cost ?? 0) < ($1.cost ?? 0) }
    floors = outcomes.filter { $0.engine == "floor" && $0.cost != nil }.sorted { ($0.cost ?? 0) > ($1.cost ?? 0) }
    guard let best, let cost = best.cost else {
      ratio = nil
      verdict = .open
      return
    }
    let ratio = cost / ourCost
    self.ratio = ratio
    let overlaps =
      ours.measure == .time && ours.fastest <= best.slowest && best.fastest <= ours.slowest && ours.runs > 1
    verdict = overlaps ? .open : ratio < 1 ? .loses : .wins
  }

  /// Daybook as it is opened by default.
  static func ours(_ outcomes: [Outcome]) -> Outcome? {
    outcomes.first { $0.engine == "daybook" && $0.variant != KeyValueKind.Promise.buffered.rawValue }
  }

  /// A page of Markdown: a line a row, losses marked.
  static func table(_ rows: [[Outcome]]) -> String {
    var lines = [
      "| row | Daybook, each | best peer, each | Daybook is | in processor time | of the floor |",
      "|---|--:|--:|--:|--:|--:|",
    ]
    var isAnyOpen = false
    for outcomes in rows {
      guard let comparison = Comparison(outcomes) else { continue }
      let ours = comparison.ours
      var peer = "–"
      var ratio = "–"
      var processorRatio = ""
      if let best = comparison.best, let value = comparison.ratio {
        peer = "\(Report.amount(best)) \(best.engine)\(best.variant == ours.variant ? "" : " " + best.variant)"
        ratio = Report.times(value)
        if ours.measure == .time, ours.processorSeconds > 0 {
          processorRatio = Report.times(best.processorSecondsPerOperation / ours.processorSecondsPerOperation)
        }
        switch comparison.verdict {
        case .wins: break
        case .loses: ratio = "🔴 **\(ratio)**"
        case .open:
          ratio = "\(ratio) ≈"
          isAnyOpen = true
        }
      }
      let floor = comparison.floors.first.flatMap { floor in
        floor.cost.map { cost in "\(Report.times((ours.cost ?? 0) / cost)) \(floor.variant)" }
      }
      lines.append("| \(ours.row) | \(Report.amount(ours)) | \(peer) | \(ratio) | \(processorRatio) | \(floor ?? "") |")
    }
    let count = rows.first?.first.map { "\($0.records) records" } ?? ""
    lines += ["", "\(count); medians; 🔴 where Daybook loses against the best engine that keeps the same promise."]
    if isAnyOpen { lines.append("≈ where the slowest run of one and the fastest of the other overlap: no result.") }
    return lines.joined(separator: "\n") + "\n"
  }
}

extension Outcome {
  fileprivate var fastest: Double { minimumSeconds / Double(operations) }
  fileprivate var slowest: Double { maximumSeconds / Double(operations) }
}
