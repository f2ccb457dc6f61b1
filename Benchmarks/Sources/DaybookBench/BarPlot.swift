import Foundation

/// One panel a row, one bar an engine, on a logarithmic scale: operations a second, where longer is better, or bytes, where
/// shorter is. Daybook is blue, red where it loses against the best engine that keeps the same promise; engines that keep
/// another are pale, what the machine allows is green.
enum BarPlot {
  private static let width = 880.0
  private static let columnWidth = 430.0
  private static let labelWidth = 116.0
  private static let barHeight = 13.0
  private static let step = 17.0

  /// - Parameter summaries: what one operation is, by row.
  static func document(_ rows: [[Outcome]], summaries: [String: String]) -> String {
    var svg = SVG(width: width)
    var bottoms = [54.0, 54.0]
    let count = rows.first?.first?.records ?? 0
    svg.text("title", x: 10, y: 20, "Daybook and its peers at \(count) records, logarithmic scales")
    var x = 10.0
    for (style, words) in [
      ("ours", "Daybook"), ("lost", "Daybook where it loses"), ("peer", "the same promise"), ("aside", "another promise"),
      ("floor", "what the machine allows"),
    ] {
      svg.rectangle(style, x: x, y: 30, width: 10, height: 10)
      svg.text("note", x: x + 14, y: 39, words)
      x += 30 + 6 * Double(words.count)
    }
    for outcomes in rows where outcomes.contains(where: { $0.cost != nil }) {
      let column = bottoms[0] <= bottoms[1] ? 0 : 1
      bottoms[column] = panel(
        outcomes, summary: summaries[outcomes[0].row] ?? "", x: 10 + Double(column) * (columnWidth + 10),
        y: bottoms[column], in: &svg)
    }
    return svg.document(title: "Daybook and its peers at \(count) records")
  }

  /// Draws a panel; returns where the next one begins.
  private static func panel(_ outcomes: [Outcome], summary: String, x: Double, y: Double, in svg: inout SVG) -> Double {
    let comparison = Comparison(outcomes)
    let isTimed = outcomes[0].measure == .time
    svg.text("title", x: x, y: y + 14, outcomes[0].row)
    if let comparison, let ratio = comparison.ratio {
      let words = Report.times(ratio) + (comparison.verdict == .open ? " ≈" : "")
      svg.text(
        comparison.verdict == .loses ? "loss" : "", x: x + columnWidth - 10, y: y + 14, anchor: "end", words)
    }
    svg.text("note", x: x, y: y + 27, summary.count > 76 ? summary.prefix(74) + "…" : summary)
    let shown = outcomes.filter { $0.cost != nil }
    let values = shown.map { isTimed ? 1 / ($0.cost ?? 1) : ($0.cost ?? 1) }
    let scale = LogScale(values, start: x + labelWidth, length: columnWidth - labelWidth - 70)
    let top = y + 34
    let bottom = top + Double(shown.count) * step
    for decade in scale.decades {
      let position = scale.position(decade)
      svg.line("grid", from: (position, top), to: (position, bottom))
      svg.text("note", x: position, y: bottom + 11, anchor: "middle", isTimed ? rate(decade) : Report.bytes(decade))
    }
    for (index, outcome) in shown.enumerated() {
      let barTop = top + Double(index) * step + 2
      let value = values[index]
      let style: String
      switch outcome.engine {
      case "daybook": style = comparison?.verdict == .loses && outcome.variant == comparison?.ours.variant ? "lost" : "ours"
      case "floor": style = "floor"
      default: style = outcome.comparable ? "peer" : "aside"
      }
      svg.text("", x: x + labelWidth - 6, y: barTop + 10, anchor: "end", "\(outcome.engine) \(outcome.variant)")
      svg.rectangle(
        style, x: scale.start, y: barTop, width: scale.position(value) - scale.start, height: barHeight)
      svg.text(
        "", x: scale.position(value) + 4, y: barTop + 10, isTimed ? Report.rate(value) + "/s" : Report.bytes(value))
    }
    return bottom + 30
  }

  private static func rate(_ value: Double) -> String {
    switch value {
    case 1e6...: String(format: "%.0f M", value / 1e6)
    case 1e3...: String(format: "%.0f k", value / 1e3)
    case 1...: String(format: "%.0f", value)
    default: String(format: "%g", value)
    }
  }
}
