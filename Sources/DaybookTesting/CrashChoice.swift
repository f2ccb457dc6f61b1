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
