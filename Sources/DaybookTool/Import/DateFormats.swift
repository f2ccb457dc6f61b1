/// The formats that the cells of one column may have, tried in the order in which they were given.
struct DateFormats: Equatable {
  private(set) var patterns: [DatePattern]

  init(_ patterns: [DatePattern]) { self.patterns = patterns }

  mutating func add(_ pattern: DatePattern) { patterns.append(pattern) }

  /// Seconds since 2001-01-01 UTC by the first format that the text has; nil when it has none, or there is no such day.
  func seconds(_ text: String) -> Double? {
    for pattern in patterns {
      if let seconds = pattern.seconds(text) { return seconds }
    }
    return nil
  }

  /// Why a text is no date, as what follows its column: it says the cell, because that is what has to be changed.
  func fault(of text: String) -> String {
    let cell = "\"\(text.prefix(60))\(text.count > 60 ? "…" : "")\""
    for pattern in patterns {
      guard let part = pattern.missingPart(of: text) else { continue }
      return "is \(cell), and there is no such \(part) (format \(pattern.text))."
    }
    let names = patterns.map(\.text)
    guard let last = names.last, names.count > 1 else {
      return "is \(cell), which does not have the format \(names.first ?? "") that --date names."
    }
    return "is \(cell), which has neither the format \(names.dropLast().joined(separator: ", ")) nor \(last)."
  }
}
