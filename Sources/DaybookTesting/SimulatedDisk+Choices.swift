/// Power loss without chance: everything that is pending on a disk, one by one, and images for any choice of it.
///
///     pending units     sectors of 512 bytes; pages of 4096 that were written whole count as one
///     pending sizes     files whose size changed since their last sync: the old size, the new one, or between
///     pending names     creations, renames and removals that no directory sync has covered
///
/// Units are numbered file by file, in the order of inode numbers, so that one number means the same on every machine.
import DaybookEngine

/// One way in which the power fails.
package struct CrashChoice: Sendable, Hashable, CustomStringConvertible {
  package enum Size: Sendable, Hashable { case old, new, between(eighths: Int) }

  /// The units that arrive.
  package var units: NumberSet
  package var size = Size.new
  /// The name changes that arrive.
  package var names: NumberSet
  /// The unit with a sector that is torn by bytes.
  package var torn: Int?
  package var unwritten = UnwrittenSpace.zeros
  /// Only the process dies: everything stays, and pending changes stay pending.
  package var isKill = false
  /// For garbage and for the place of the tear.
  package var seed: UInt64

  package init(units: NumberSet, names: NumberSet, seed: UInt64) {
    self.units = units
    self.names = names
    self.seed = seed
  }

  /// A random choice, with the most productive ones more often: all, none, a front, all but one.
  package static func random(_ pending: PendingChanges, _ generator: inout SeededGenerator) -> CrashChoice {
    let everything = CrashPolicy(sectors: .random, sizes: .random, names: .random)
    let units = everything.survivors(of: 0..<pending.unitCount, &generator)
    var names = NumberSet()
    for name in 0..<pending.nameCount where Bool.random(using: &generator) { names.insert(name) }
    var choice = CrashChoice(units: units, names: names, seed: generator.next())
    if pending.hasSizes {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: choice.size = .old
      case 1: choice.size = .between(eighths: Int.random(in: 1...7, using: &generator))
      default: break
      }
    }
    if pending.unitCount > 0, Int.random(in: 0..<3, using: &generator) == 0 {
      choice.torn = Int.random(in: 0..<pending.unitCount, using: &generator)
    }
    choice.unwritten = [.zeros, .garbage, .recycled].randomElement(using: &generator) ?? .zeros
    return choice
  }

  package var description: String {
    if isKill { return "the process is killed" }
    return "units \(units.members) arrive, names \(names.members), size \(size), torn \(torn.map { "\($0)" } ?? "none"), "
      + "unwritten space \(unwritten), seed \(seed)"
  }
}

/// How much there is to choose.
package struct PendingChanges: Sendable, Equatable {
  package var unitCount = 0
  package var nameCount = 0
  package var hasSizes = false

  package init(unitCount: Int = 0, nameCount: Int = 0, hasSizes: Bool = false) {
    self.unitCount = unitCount
    self.nameCount = nameCount
    self.hasSizes = hasSizes
  }
}

extension SimulatedDisk {
  /// Pages written whole arrive as a whole.
  package static let pageByteCount = 4096

  package var pendingChanges: PendingChanges {
    state.withLock { state in
      var pending = PendingChanges(nameCount: state.pendingChanges.count)
      for content in state.reachableContents {
        pending.unitCount += content.pendingRuns(pageByteCount: SimulatedDisk.pageByteCount).count
        if content.byteCount != content.durableByteCount { pending.hasSizes = true }
      }
      return pending
    }
  }

  /// The disk as this choice leaves it. For many choices, keep the `CrashMoment`.
  package func crashed(_ choice: CrashChoice) -> SimulatedDisk { CrashMoment(self).image(of: choice) }
}

extension SimulatedDisk.State {
  /// All files that a name leads to, or may lead to after a crash, in the order of their inode numbers.
  var reachableContents: [SimulatedContent] {
    var contents: [UInt64: SimulatedContent] = [:]
    for content in names.values { contents[content.identity.inode] = content }
    for content in durableNames.values { contents[content.identity.inode] = content }
    for change in pendingChanges {
      for case (_, let content?) in change.names { contents[content.identity.inode] = content }
    }
    return contents.values.sorted { $0.identity.inode < $1.identity.inode }
  }
}
