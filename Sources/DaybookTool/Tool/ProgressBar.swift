/// A bar on a terminal's standard error, redrawn ten times a second; nothing anywhere else.
struct ProgressBar: ~Copyable {
  private let errors: Output
  private let label: String
  private var isDrawn = false
  private var nextDraw: ContinuousClock.Instant
  private static let width = 30

  /// Nothing is drawn in the first half second: short work needs no bar.
  init(_ label: String, on errors: Output) {
    self.label = label
    self.errors = errors
    nextDraw = ContinuousClock.now + .milliseconds(500)
  }

  mutating func update(_ done: Int, of total: Int) throws {
    guard errors.isTerminal, ContinuousClock.now >= nextDraw else { return }
    nextDraw = ContinuousClock.now + .milliseconds(100)
    isDrawn = true
    let share = total > 0 ? min(1, Double(done) / Double(total)) : 0
    let filled = Int(share * Double(Self.width))
    let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
    try errors.write("\r\(label) \(bar) \(Int(share * 100)) %")
    try errors.flush()
  }

  /// Wipes the bar, so that messages begin on a clean line.
  mutating func clear() throws {
    guard isDrawn else { return }
    isDrawn = false
    try errors.write("\r\u{1B}[2K")
    try errors.flush()
  }
}
