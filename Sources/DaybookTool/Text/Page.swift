/// A page of HTML in one file, made piece by piece: no scripts, nothing loaded from elsewhere, and texts of a database only as text.
struct Page {
  private var body = ""
  private let title: String

  init(title: String) { self.title = title }

  mutating func heading(_ text: String) { body += "<h2>\(Markup.escaped(text))</h2>\n" }

  mutating func paragraph(_ text: String) { body += "<p>\(Markup.escaped(text))</p>\n" }

  /// A picture that is made already.
  mutating func picture(_ svg: String) { body += "<div class=\"picture\">\n\(svg)</div>\n" }

  /// - Parameter numeric: the columns of numbers, aligned to the right.
  mutating func table(_ header: [String], _ rows: [[String]], numeric: Set<Int> = []) {
    func row(_ cells: [String], _ tag: String) -> String {
      let texts = cells.enumerated().map { (index, cell) in
        "<\(tag)\(numeric.contains(index) ? " class=\"number\"" : "")>\(Markup.escaped(cell))</\(tag)>"
      }
      return "<tr>\(texts.joined())</tr>\n"
    }
    body += "<table>\n" + (header.isEmpty ? "" : row(header, "th"))
    for cells in rows { body += row(cells, "td") }
    body += "</table>\n"
  }

  /// Rows with a bar each, as long as their share of all.
  mutating func bars(_ rows: [(name: String, value: String, share: Double)]) {
    body += "<table>\n"
    for row in rows {
      let width = Int((min(1, max(0, row.share)) * 300).rounded())
      body +=
        "<tr><td>\(Markup.escaped(row.name))</td><td class=\"number\">\(Markup.escaped(row.value))</td>"
        + "<td><div class=\"bar\" style=\"width:\(width)px\"></div></td></tr>\n"
    }
    body += "</table>\n"
  }

  var html: String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
    <title>\(Markup.escaped(title))</title>
    <style>
    body { font: 14px/1.45 sans-serif; color: #222; background: #fff; max-width: 900px; margin: 2em auto; padding: 0 1em; }
    h1 { font-size: 20px; overflow-wrap: anywhere; }
    h2 { font-size: 16px; margin-top: 2em; }
    table { border-collapse: collapse; }
    th, td { text-align: left; vertical-align: top; padding: 2px 14px 2px 0; overflow-wrap: anywhere; }
    th { border-bottom: 1px solid #999; }
    .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
    .bar { height: 12px; margin-top: 4px; background: #3b6ea5; }
    .picture { overflow-x: auto; }
    </style>
    </head>
    <body>
    <h1>\(Markup.escaped(title))</h1>
    \(body)</body>
    </html>

    """
  }
}
