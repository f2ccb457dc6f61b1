import Daybook

/// One step of the application in a crash test. A run is a list of steps, decided before it starts, so that a failing run can
/// be shrunk by leaving out steps.
package enum CrashOperation: Sendable, Hashable, CustomStringConvertible {
  /// Saves a record, and its zone if there is none; the numbers choose zone, record and length.
  case save(zone: Int, record: Int, byteCount: Int)
  /// The same with an asset in a file of its own; the last number chooses one of a few contents.
  case saveAsset(zone: Int, record: Int, content: Int)
  /// The same with a reference to an owner in the zone, which may not exist; deleting the owner deletes this record.
  case saveOwned(zone: Int, record: Int, owner: Int)
  /// Removes contents that no record names.
  case collect
  /// Saves many records in one transaction, which is written in parts where parts are small.
  case saveMany(zone: Int, count: Int, byteCount: Int)
  case delete(zone: Int, record: Int)
  case deleteZone(Int)
  /// A transaction that is rolled back, large enough for parts.
  case abort(zone: Int, count: Int)
  case forgetDeletions
  case checkpoint
  /// What the background thread would do: write a note behind the last commit, and zeros ahead of the log.
  case note, zeros
  case sync
  /// Closes and opens again.
  case close
  /// The process dies, or the power fails, and the application starts again.
  case kill, powerLoss
  /// The process dies so many disk calls later, whatever it does then.
  case dieSoon(calls: Int)
  /// Copies the database into another file, replacing the last copy.
  case backup
  /// Compacts the file.
  case compact
  /// One step in the life of indexes of some kinds: defines them, builds a part of them, or drops them.
  case index([IndexKind])

  package var description: String {
    switch self {
    case .save(let zone, let record, let byteCount): "save z\(zone)/r\(record) (\(byteCount) bytes)"
    case .saveAsset(let zone, let record, let content): "save z\(zone)/r\(record) with asset \(content)"
    case .saveOwned(let zone, let record, let owner): "save z\(zone)/r\(record), owned by r\(owner)"
    case .collect: "collect assets"
    case .saveMany(let zone, let count, let byteCount): "save \(count) records in z\(zone) (\(byteCount) bytes each)"
    case .delete(let zone, let record): "delete z\(zone)/r\(record)"
    case .deleteZone(let zone): "delete zone z\(zone)"
    case .abort(let zone, let count): "abort after \(count) records in z\(zone)"
    case .forgetDeletions: "forget deletions"
    case .checkpoint: "checkpoint"
    case .note: "note"
    case .zeros: "zeros"
    case .sync: "sync"
    case .close: "close"
    case .kill: "kill"
    case .powerLoss: "power loss"
    case .backup: "backup"
    case .compact: "compact"
    case .index(let kinds): "next step of indexes (\(kinds.map(\.rawValue).joined(separator: ", ")))"
    case .dieSoon(let calls): "die at call \(calls) from here"
    }
  }

  /// The operations of which every sequence is tried, with the names that the progress shows.
  package static let exhaustive: [(name: String, operation: CrashOperation)] = [
    ("save", .save(zone: 0, record: 0, byteCount: 40)),
    ("saveParts", .saveMany(zone: 0, count: 5, byteCount: 300)),
    ("saveAsset", .saveAsset(zone: 0, record: 0, content: 0)),
    ("saveOwned", .saveOwned(zone: 0, record: 1, owner: 0)),
    ("collect", .collect),
    ("delete", .delete(zone: 0, record: 0)),
    ("deleteZone", .deleteZone(0)),
    ("checkpoint", .checkpoint),
    ("close", .close),
    ("backup", .backup),
    ("compact", .compact),
    ("index", .index(IndexKind.allCases)),
    ("kill", .kill),
  ]

  static func randomKinds(_ generator: inout SeededGenerator) -> [IndexKind] {
    Int.random(in: 0..<3, using: &generator) == 0
      ? IndexKind.allCases : [IndexKind.allCases.randomElement(using: &generator) ?? .value]
  }

  static func random(_ generator: inout SeededGenerator) -> CrashOperation {
    func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
    let zone = number(0..<3)
    switch number(0..<100) {
    case 0..<9: return .saveAsset(zone: zone, record: number(0..<6), content: number(0..<3))
    case 9..<12: return .collect
    case 12..<20: return .saveOwned(zone: zone, record: number(0..<6), owner: number(0..<6))
    case 20..<23: return .index(randomKinds(&generator))
    case 23..<44:
      return .save(zone: zone, record: number(0..<6), byteCount: number(0..<8) == 0 ? number(0..<3000) : number(0..<90))
    case 44..<52:
      let count = number(2..<14)
      let byteCount = number(20..<260)
      // Now and then so many that trees have branches, whose leaves get deltas after a checkpoint.
      return count == 13
        ? .saveMany(zone: zone, count: 130, byteCount: 20) : .saveMany(zone: zone, count: count, byteCount: byteCount)
    case 52..<64: return .delete(zone: zone, record: number(0..<6))
    case 64..<68: return .deleteZone(zone)
    case 68..<72: return .abort(zone: zone, count: number(1..<12))
    case 72..<74: return .forgetDeletions
    case 74..<81: return .checkpoint
    case 81..<85: return .note
    case 85..<88: return .zeros
    case 88..<91: return .sync
    case 91..<93: return .kill
    case 93: return .powerLoss
    case 94..<96: return .dieSoon(calls: number(1..<9))
    case 96: return .backup
    case 97: return .compact
    default: return .close
    }
  }
}
