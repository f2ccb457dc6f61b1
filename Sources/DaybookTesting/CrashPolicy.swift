import DaybookEngine

/// How much of what was pending arrives.
package struct CrashPolicy: Sendable {
  package enum Choice: Sendable { case none, all, random }

  /// Which pending sectors arrive.
  package var sectors: Choice
  /// Whether sizes are the old or the new ones; `random` also picks sizes between.
  package var sizes: Choice
  /// Which pending creations, renames and removals arrive.
  package var names: Choice
  /// Whether one pending sector of each file is torn within.
  package var tearsSector: Bool
  /// What fills space that was allocated but not written; nil leaves it to the seed.
  package var unwritten: UnwrittenSpace?

  package init(
    sectors: Choice, sizes: Choice, names: Choice, tearsSector: Bool = false, unwritten: UnwrittenSpace? = nil
  ) {
    self.sectors = sectors
    self.sizes = sizes
    self.names = names
    self.tearsSector = tearsSector
    self.unwritten = unwritten
  }

  /// Only what was synced.
  package static let none = CrashPolicy(sectors: .none, sizes: .none, names: .none, unwritten: .zeros)
  /// Everything that was written.
  package static let all = CrashPolicy(sectors: .all, sizes: .all, names: .all, unwritten: .zeros)
  /// Anything that may happen.
  package static let random = CrashPolicy(sectors: .random, sizes: .random, names: .random, tearsSector: true)

  func survivors(of pending: some Collection<Int>, _ generator: inout SeededGenerator) -> NumberSet {
    var survivors = NumberSet()
    guard !pending.isEmpty else { return survivors }
    switch sectors {
    case .none: break
    case .all:
      for sector in pending { survivors.insert(sector) }
    case .random:
      // Independent random choices would almost never leave out exactly one sector of a large write, or keep exactly its front,
      // and those cases find mistakes.
      let way = Int.random(in: 0..<8, using: &generator)
      let cut = Int.random(in: 0..<pending.count, using: &generator)
      let oddsOfEight = [1, 4, 7].randomElement(using: &generator) ?? 4
      for (index, sector) in pending.enumerated() {
        let survives =
          switch way {
          case 0: false
          case 1: true
          case 2: index < cut
          case 3: index > cut
          case 4: index != cut
          case 5: index == cut
          default: Int.random(in: 0..<8, using: &generator) < oddsOfEight
          }
        if survives { survivors.insert(sector) }
      }
    }
    return survivors
  }

  func byteCount(old: Int, new: Int, _ generator: inout SeededGenerator) -> Int {
    switch sizes {
    case .none: return old
    case .all: return new
    case .random:
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: return old
      case 1: return Int.random(in: min(old, new)...max(old, new), using: &generator)
      default: return new
      }
    }
  }

  func unwrittenSpace(hasRecycled: Bool, _ generator: inout SeededGenerator) -> UnwrittenSpace {
    let choices: [UnwrittenSpace] = hasRecycled ? [.zeros, .garbage, .recycled] : [.zeros, .garbage]
    return unwritten ?? choices.randomElement(using: &generator) ?? .zeros
  }
}
