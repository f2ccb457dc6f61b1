import DaybookEngine

package enum TailOperation: Sendable, Hashable {
  /// A commit that nobody waits for yet; a large one is written in parts.
  case commit(key: Int, count: Int, byteCount: Int)
  /// Waits for everything written; another writer appends while the sync runs.
  case wait(appends: Bool)
  case abort(count: Int)
  case note, zeros, checkpoint, close, kill, powerLoss
  /// The process dies so many calls later.
  case dieSoon(calls: Int)

  static func random(_ generator: inout SeededGenerator) -> TailOperation {
    func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
    switch number(0..<100) {
    case 0..<46: return .commit(key: number(0..<9), count: 1, byteCount: number(0..<6) == 0 ? number(0..<1500) : number(0..<80))
    case 46..<52: return .commit(key: number(0..<9), count: number(2..<6), byteCount: number(100..<500))
    case 52..<74: return .wait(appends: number(0..<3) == 0)
    case 74..<76: return .abort(count: number(1..<6))
    case 76..<85: return .note
    case 85..<86: return .zeros
    case 86..<90: return .checkpoint
    case 90..<93: return .close
    case 93..<96: return .kill
    case 96..<98: return .dieSoon(calls: number(1..<7))
    default: return .powerLoss
    }
  }
}
