import Foundation

/// The table that people read and the file that programs read.
enum Report {
  static let head = """
    | row | engine | variant | per second | each (median) | spread | daybook is | processor time each | of daybook's |
    |---|---|---|--:|--:|--:|--:|--:|--:|
    """

  /// The lines of one row. "daybook is" is throughput of Daybook over that of the engine; in parentheses where the
  /// engine keeps another promise. The last two columns are the same in processor time.
  static func lines(_ outcomes: [Outcome]) -> [String] {
    let ours = outcomes.first { $0.engine == "daybook" }
    return outcomes.map { outcome in
      let each = outcome.secondsPerOperation
      let operations = Double(outcome.operations)
      let spread = "\(time(outcome.minimumSeconds / operations)) – \(time(outcome.maximumSeconds / operations))"
      var ratio = ""
      var processorRatio = ""
      if let ours, outcome.engine != "daybook" {
        ratio = String(format: "%.2f ×", each / ours.secondsPerOperation)
        if !outcome.comparable { ratio = "(\(ratio))" }
        let ourProcessor = ours.processorSecondsPerOperation
        processorRatio = String(format: "%.2f ×", outcome.processorSecondsPerOperation / ourProcessor)
      }
      return "| \(outcome.row) | \(outcome.engine) | \(outcome.variant) | \(rate(1 / each)) | \(time(each)) | "
        + "\(spread) | \(ratio) | \(time(outcome.processorSecondsPerOperation)) | \(processorRatio) |"
    }
  }

  static func json(_ outcomes: [Outcome]) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return try encoder.encode(outcomes)
  }

  static func time(_ seconds: Double) -> String {
    switch seconds {
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
    default: String(format: "%.0f", perSecond)
    }
  }
}
