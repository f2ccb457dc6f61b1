import Foundation

/// Pictures as plain SVG text, readable on a light and on a dark page: ground and letters follow the reader's setting, and the
/// colours of bars and lines stand out on both.
struct SVG {
  let width: Double
  private(set) var height: Double = 0
  private var elements: [String] = []

  init(width: Double) { self.width = width }

  mutating func rectangle(_ style: String, x: Double, y: Double, width: Double, height: Double) {
    reach(y + height)
    elements.append(
      "<rect class=\"\(style)\" x=\"\(SVG.number(x))\" y=\"\(SVG.number(y))\" width=\"\(SVG.number(max(width, 0)))\" "
        + "height=\"\(SVG.number(height))\" rx=\"2\"/>")
  }

  mutating func line(_ style: String, from start: (x: Double, y: Double), to end: (x: Double, y: Double)) {
    reach(max(start.y, end.y))
    elements.append(
      "<line class=\"\(style)\" x1=\"\(SVG.number(start.x))\" y1=\"\(SVG.number(start.y))\" x2=\"\(SVG.number(end.x))\" "
        + "y2=\"\(SVG.number(end.y))\"/>")
  }

  mutating func path(_ style: String, through points: [(x: Double, y: Double)]) {
    let text = points.map { "\(SVG.number($0.x)),\(SVG.number($0.y))" }.joined(separator: " ")
    elements.append("<polyline class=\"\(style)\" points=\"\(text)\"/>")
  }

  mutating func dot(_ style: String, x: Double, y: Double) {
    elements.append("<circle class=\"\(style)\" cx=\"\(SVG.number(x))\" cy=\"\(SVG.number(y))\" r=\"2.5\"/>")
  }

  /// - Parameter anchor: start, middle, end.
  mutating func text(_ style: String, x: Double, y: Double, anchor: String = "start", _ words: String) {
    reach(y + 4)
    elements.append(
      "<text class=\"\(style)\" x=\"\(SVG.number(x))\" y=\"\(SVG.number(y))\" text-anchor=\"\(anchor)\">\(SVG.escape(words))</text>"
    )
  }

  private mutating func reach(_ y: Double) { height = max(height, y) }

  func document(title: String) -> String {
    let size = "\(SVG.number(width))\" height=\"\(SVG.number(height + 12))"
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(size)" viewBox="0 0 \(SVG.number(width)) \(SVG.number(height + 12))" \
      role="img" aria-label="\(SVG.escape(title))">
      <title>\(SVG.escape(title))</title>
      <style>
      text { font: 11px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #57606a }
      .ground { fill: #ffffff }
      .title { font-weight: 600; font-size: 13px; fill: #1f2328 }
      .note { font-size: 10px }
      .loss { fill: #cf222e; font-weight: 600 }
      .grid { stroke: #d0d7de; stroke-width: 1 }
      .ours { fill: #0969da }
      .lost { fill: #cf222e }
      .peer { fill: #8c959f }
      .aside { fill: #8c959f; opacity: 0.45 }
      .floor { fill: #1a7f37; opacity: 0.6 }
      .measured { fill: none; stroke: #0969da; stroke-width: 2 }
      .expected { fill: none; stroke: #8c959f; stroke-width: 1.5; stroke-dasharray: 4 3 }
      @media (prefers-color-scheme: dark) {
        text { fill: #9198a1 }
        .ground { fill: #0d1117 }
        .title { fill: #f0f6fc }
        .loss { fill: #ff7b72 }
        .grid { stroke: #3d444d }
        .ours { fill: #4493f8 }
        .lost { fill: #f85149 }
        .peer, .aside { fill: #7d8590 }
        .floor { fill: #3fb950 }
        .measured { stroke: #4493f8 }
        .expected { stroke: #7d8590 }
      }
      </style>
      <rect class="ground" x="0" y="0" width="100%" height="100%"/>
      \(elements.joined(separator: "\n"))
      </svg>

      """
  }

  private static func number(_ value: Double) -> String {
    let text = String(format: "%.1f", value)
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  private static func escape(_ words: String) -> String {
    words.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: ">", with: "&gt;").replacingOccurrences(of: "\"", with: "&quot;")
  }
}

/// Where values stand on a logarithmic axis; always true: its upper end is above its lower one.
struct LogScale {
  let lower: Double
  let upper: Double
  let start: Double
  let length: Double

  /// - Parameters:
  ///   - values: greater than zero; others are left out.
  ///   - isTight: from the smallest to the largest, instead of from the decade below.
  init(_ values: [Double], start: Double, length: Double, isTight: Bool = false) {
    let positive = values.filter { $0 > 0 }
    let smallest = log10(positive.min() ?? 1)
    lower = isTight ? smallest : (smallest - 0.15).rounded(.down)
    upper = max(lower + (isTight ? 0.1 : 1), log10(positive.max() ?? 10))
    self.start = start
    self.length = length
  }

  func position(_ value: Double) -> Double {
    value > 0 ? start + length * (log10(value) - lower) / (upper - lower) : start
  }

  /// The powers of ten on it.
  var decades: [Double] {
    stride(from: lower, through: upper + 0.001, by: 1).map { pow(10, $0) }
  }
}
