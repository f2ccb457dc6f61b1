import Daybook

/// Draws trees as rows of pages, root on top; each page is filled as its level is on average.
///
///     Library: by name                    3,201 keys
///     level 1   ▇
///     level 0   ▆ ▆ ▆ ▆ ▆ ▆ ▆ ▆ …  96 pages
enum TreeDrawing {
  private static let pageWidth = 14
  private static let pageHeight = 18
  private static let gap = 3
  private static let pagesPerRow = 40
  private static let left = 90
  private static let width = left + pagesPerRow * (pageWidth + gap) + 120

  static func svg(_ trees: [TreeFacts], title: String) -> String {
    var body = Markup.text(16, 28, title, size: 16)
    var y = 48
    for tree in trees {
      y += 14
      body += Markup.text(16, y, "\(tree.title)  (\(Wording.count(tree.tree.count, "key")))", size: 12)
      y += 8
      if tree.isInCatalog {
        body += Markup.text(24, y + pageHeight - 5, "in the catalog", size: 11)
        y += pageHeight + gap
      }
      for level in tree.tree.levels {
        body += Markup.text(24, y + pageHeight - 5, "level \(level.level)", size: 11)
        let drawn = min(level.pageCount, pagesPerRow)
        for index in 0..<drawn {
          body += page(left + index * (pageWidth + gap), y, TreeFacts.fill(level), isLeaf: level.level == 0)
        }
        let more = level.pageCount > drawn ? "… " : ""
        body += Markup.text(
          left + drawn * (pageWidth + gap) + 6, y + pageHeight - 5,
          "\(more)\(Wording.count(level.pageCount, "page")), \(Int((TreeFacts.fill(level) * 100).rounded())) %", size: 11)
        y += pageHeight + gap
      }
      y += 12
    }
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(y + 16)" font-family="sans-serif">
      <rect width="100%" height="100%" fill="white"/>
      \(body)</svg>

      """
  }

  private static func page(_ x: Int, _ y: Int, _ fill: Double, isLeaf: Bool) -> String {
    let height = Int((Double(pageHeight) * min(1, fill)).rounded())
    let color = isLeaf ? "#4a8c5f" : "#4a6d8c"
    return """
      <rect x="\(x)" y="\(y)" width="\(pageWidth)" height="\(pageHeight)" fill="#eee" stroke="\(color)"/>
      <rect x="\(x)" y="\(y + pageHeight - height)" width="\(pageWidth)" height="\(height)" fill="\(color)"/>

      """
  }
}
