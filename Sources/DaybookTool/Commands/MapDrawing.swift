import Daybook

/// Draws a file from its first byte to its last, row by row: a square is a piece of it, coloured as what takes most of it, dark as far up
/// as its bytes are needed.
enum MapDrawing {
  /// As many squares as a picture has at most.
  static let blockLimit = 2_048
  private static let blocksPerRow = 64
  private static let side = 11
  private static let step = 13
  private static let left = 16

  /// The parts of a picture's legend: several kinds of frames have a colour together.
  private enum Part: Int, CaseIterable {
    case header, commits, pages, checkpoints, others, unreadable, prepared

    init(of kind: String) {
      self =
        switch kind {
        case Database.FileMap.header: .header
        case "commit", "part": .commits
        case "pages": .pages
        case "checkpoint", "closed", "declarations": .checkpoints
        case Database.FileMap.unreadable: .unreadable
        case Database.FileMap.prepared: .prepared
        default: .others
        }
    }

    var color: String {
      switch self {
      case .header: "#333333"
      case .commits: "#3b6ea5"
      case .pages: "#4a8c5f"
      case .checkpoints: "#c08a2d"
      case .others: "#8a8a8a"
      case .unreadable: "#c0392b"
      case .prepared: "#dddddd"
      }
    }

    var title: String {
      switch self {
      case .header: "header"
      case .commits: "commits"
      case .pages: "pages of trees"
      case .checkpoints: "checkpoints, closes, declarations"
      case .others: "notes and others"
      case .unreadable: "unreadable"
      case .prepared: "prepared for what comes"
      }
    }

    /// Whether some of it may be dead.
    var ages: Bool { self == .commits || self == .pages }
  }

  static func svg(_ map: Database.FileMap, title: String) -> String {
    var body = Markup.text(left, 28, title, size: 16)
    body += Markup.text(
      left, 48,
      "\(Wording.bytes(map.fileByteCount)), a square is \(Wording.bytes(map.blockByteCount)); dark is live, pale is dead",
      size: 12)
    var y = 60
    for part in Part.allCases {
      let kinds = map.kinds.filter { Part(of: $0.name) == part }
      guard !kinds.isEmpty else { continue }
      let byteCount = kinds.reduce(0) { $0 + $1.byteCount }
      let frameCount = kinds.reduce(0) { $0 + $1.frameCount }
      body += square(left, y, side, part.color, opacity: 1)
      let frames = frameCount > 0 ? "\(Wording.count(frameCount, "frame")), " : ""
      body += Markup.text(left + 18, y + 10, "\(part.title): \(frames)\(Wording.bytes(byteCount))", size: 12)
      y += 17
    }
    y += 8
    for (index, block) in map.blocks.enumerated() {
      let x = left + index % blocksPerRow * step
      body += drawing(of: block, index, map, x, y + index / blocksPerRow * step)
    }
    let rowCount = (map.blocks.count + blocksPerRow - 1) / blocksPerRow
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(left * 2 + blocksPerRow * step)" height="\(y + rowCount * step + 16)" \
      font-family="sans-serif">
      <rect width="100%" height="100%" fill="white"/>
      \(body)</svg>

      """
  }

  private static func drawing(
    of block: Database.FileMap.Block, _ index: Int, _ map: Database.FileMap, _ x: Int, _ y: Int
  ) -> String {
    var sums = [Int](repeating: 0, count: Part.allCases.count)
    for (kind, byteCount) in block.byteCounts.enumerated() { sums[Part(of: map.kinds[kind].name).rawValue] += byteCount }
    // What cannot be read is seen however little it is.
    let part =
      sums[Part.unreadable.rawValue] > 0
      ? Part.unreadable : Part.allCases.max { sums[$0.rawValue] < sums[$1.rawValue] } ?? .others
    let first = index * map.blockByteCount
    var words = "\(Wording.count(first)): \(part.title)"
    guard part.ages, map.liveFault == nil else {
      return square(x, y, side, part.color, opacity: part.ages ? 0.6 : 1, title: words)
    }
    let byteCount = min(map.blockByteCount, map.fileByteCount - first)
    let share = Double(min(block.liveByteCount, byteCount)) / Double(max(1, byteCount))
    words += ", \(Int((share * 100).rounded())) % live"
    let height = Int((share * Double(side)).rounded(.up))
    let pale = square(x, y, side, part.color, opacity: 0.25, title: words)
    return height == 0 ? pale : pale + rect(x, y + side - height, side, height, part.color, opacity: 1, title: words)
  }

  private static func square(
    _ x: Int, _ y: Int, _ side: Int, _ color: String, opacity: Double, title: String? = nil
  ) -> String { rect(x, y, side, side, color, opacity: opacity, title: title) }

  private static func rect(
    _ x: Int, _ y: Int, _ width: Int, _ height: Int, _ color: String, opacity: Double, title: String?
  ) -> String {
    let shade = opacity < 1 ? " fill-opacity=\"\(opacity)\"" : ""
    let start = "<rect x=\"\(x)\" y=\"\(y)\" width=\"\(width)\" height=\"\(height)\" fill=\"\(color)\"\(shade)"
    return title.map { "\(start)><title>\(Markup.escaped($0))</title></rect>\n" } ?? "\(start)/>\n"
  }
}
