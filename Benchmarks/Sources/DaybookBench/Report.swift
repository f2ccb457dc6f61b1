import Foundation

/// The table that people read while it runs, and the file that programs read.
enum Report {
  static let head = """
    | row | engine | variant | per second | each (median) | spread | daybook is | processor time each | of daybook's | device bytes each |
    |---|---|---|--:|--:|--:|--:|--:|--:|--:|
    """

  /// The lines of one row. "daybook is" is throughput of Daybook over that of the engine, or bytes of the engine over those of
  /// Daybook; in parentheses where the engine keeps another promise. The columns behind it are the same in processor time.
  static func lines(_ outcomes: [Outcome]) -> [String] {
    let ours = Comparison.ours(outcomes)
    return outcomes.map { outcome in
      let each = outcome.secondsPerOperation
      let operations = Double(outcome.operations)
      let isTimed = outcome.measure == .time
      let spread = "\(time(outcome.minimumSeconds / operations)) – \(time(outcome.maximumSeconds / operations))"
      var ratio = ""
      var processorRatio = ""
      if let ours, let cost = outcome.cost, let ourCost = ours.cost, outcome.engine != "daybook" {
        ratio = times(cost / ourCost)
        if !outcome.comparable { ratio = "(\(ratio))" }
        processorRatio = times(outcome.processorSecondsPerOperation / ours.processorSecondsPerOperation)
      }
      let file = isTimed ? outcome.fileBytes.map { ", file \(bytes(Double($0)))" } ?? "" : ""
      let device = outcome.deviceBytes.map { bytes(Double($0) / operations) } ?? ""
      return "| \(outcome.row) | \(outcome.engine) | \(outcome.variant) | \(isTimed ? rate(1 / each) : "") | "
        + "\(amount(outcome))\(file) | \(isTimed ? spread : "") | \(ratio) | "
        + "\(isTimed ? time(outcome.processorSecondsPerOperation) : "") | \(isTimed ? processorRatio : "") | \(device) |"
    }
  }

  static func json(_ outcomes: [Outcome]) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return try encoder.encode(outcomes)
  }

  /// What a row compares, of one operation, in words.
  static func amount(_ outcome: Outcome) -> String {
    guard let cost = outcome.cost else { return "–" }
    return outcome.measure == .time ? time(cost) : bytes(cost)
  }

  static func times(_ ratio: Double) -> String {
    switch ratio {
    case ..<0.095: String(format: "%.1g ×", ratio)
    case ..<10: String(format: "%.2f ×", ratio)
    default: String(format: "%.0f ×", ratio)
    }
  }

  static func time(_ seconds: Double) -> String {
    switch seconds {
    case ..<9.995e-9: String(format: "%.1f ns", seconds * 1e9)
    case ..<1e-6: String(format: "%.0f ns", seconds * 1e9)
    case ..<1e-3: String(format: "%.2f µs", seconds * 1e6)
    case ..<1: String(format: "%.2f ms", seconds * 1e3)
    default: String(format: "%.2f s", seconds)
    }
  }

  static func rate(_ perSecond: Double) -> String {
    switch perSecond {
    case 1e6...: String(format: "%.2f M", perSecond / 1e6)
    case 1e4...: String(format: "%.0f k", perSecond / 1e3)
    case 1e3...: String(format: "%.2f k", perSecond / 1e3)
    case 10...: String(format: "%.0f", perSecond)
    default: String(format: "%.1f", perSecond)
    }
  }

  static func bytes(_ count: Double) -> String {
    switch count {
    case 1e9...: String(format: "%.2f GB", count / 1e9)
    case 1e6...: String(format: "%.1f MB", count / 1e6)
    case 1e4...: String(format: "%.0f KB", count / 1e3)
    case 1e3...: String(format: "%.1f KB", count / 1e3)
    default: String(format: "%.0f B", count)
    }
  }
}
