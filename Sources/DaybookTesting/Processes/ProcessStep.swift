import DaybookEngine

/// One step of the application in a process. A script is a list of steps, decided before the run starts, so that a failing
/// script can be shrunk by leaving out steps. A step keeps its number when others are left out.
package struct ProcessStep: Sendable, Hashable, CustomStringConvertible {
  package var number: Int
  package var action: ProcessAction
  package var description: String { "step \(number): \(action)" }

  package init(number: Int, action: ProcessAction) { (self.number, self.action) = (number, action) }
}

/// Steps that only some runs have.
enum ExtraSteps {
  /// Feeds with their tokens, histories, several records in one call.
  case following
  /// A second open to read, a salvage beside the writer, assets that are prepared now and saved later.
  case visiting

  /// Not drawn: what the seeds of findings draw stays the same.
  static func of(_ seed: UInt64) -> ExtraSteps? {
    switch seed % 6 {
    case 0, 2: .following
    case 4: .visiting
    default: nil
    }
  }
}

extension ProcessStep {
  /// - Parameters:
  ///   - isTroubled: whether processes die, fail and come back much more often than usual.
  ///   - extra: what some of the steps are.
  static func random(
    _ number: Int, _ role: ProcessSettings.Role, isTroubled: Bool, extra: ExtraSteps?, _ generator: inout SeededGenerator
  ) -> ProcessStep {
    while true {
      let isTrouble = isTroubled && Int.random(in: 0..<5, using: &generator) < 2
      let isExtra = extra != nil && !isTrouble && Int.random(in: 0..<5, using: &generator) == 0
      let action: ProcessAction =
        switch (isTrouble, isExtra, extra) {
        case (true, _, _): .randomTrouble(&generator)
        case (_, true, .following?): .randomFollowing(&generator)
        case (_, true, .visiting?): .randomVisiting(&generator)
        default: .random(&generator)
        }
      if role != .follower || action.isForReaders { return ProcessStep(number: number, action: action) }
    }
  }
}

extension ProcessAction {
  fileprivate static func randomFollowing(_ generator: inout SeededGenerator) -> ProcessAction {
    func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
    return switch number(0..<8) {
    case 0..<4: .follow(limit: number(1..<6))
    case 4..<6: .lookUp(zone: number(0..<2), count: number(1..<6))
    default: .lookBack(zone: number(0..<2), record: number(0..<5))
    }
  }

  fileprivate static func randomVisiting(_ generator: inout SeededGenerator) -> ProcessAction {
    func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
    return switch number(0..<16) {
    case 0..<5: .peek
    case 5: .salvage
    case 6: .numbers
    case 7..<11: .prepare(content: number(0..<3))
    default: .savePrepared(zone: number(0..<2), record: number(0..<5))
    }
  }

  fileprivate static func randomTrouble(_ generator: inout SeededGenerator) -> ProcessAction {
    switch Int.random(in: 0..<13, using: &generator) {
    case 0..<4: return .dieSoon(calls: Int.random(in: 1..<16, using: &generator))
    case 4..<7:
      var fault = ProcessFault.random(&generator)
      fault.operation = .sync
      fault.call = Int.random(in: 1..<3, using: &generator)
      return .fail(fault)
    case 7: return .close
    case 8: return .compact
    case 9: return .checkpoint
    case 10: return .suspend
    // So large that parts of it are written, and taken back: a sync more that no commit waits for.
    case 11: return .abort(zone: Int.random(in: 0..<2, using: &generator), count: Int.random(in: 9..<40, using: &generator))
    default: return .refresh
    }
  }

  fileprivate static func random(_ generator: inout SeededGenerator) -> ProcessAction {
    func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
    let zone = number(0..<2)
    switch number(0..<100) {
    case 0..<24:
      return .commit(
        .save(zone: zone, record: number(0..<5), byteCount: number(0..<6) == 0 ? number(0..<3000) : number(0..<90)))
    case 24..<30:
      return .commit(.saveMany(zone: zone, count: number(0..<9) == 0 ? 130 : number(2..<10), byteCount: number(20..<260)))
    case 30..<33: return .commit(.saveAsset(zone: zone, record: number(0..<5), content: number(0..<3)))
    case 33..<35: return .commit(.saveOwned(zone: zone, record: number(0..<5), owner: number(0..<5)))
    case 35..<40: return .commit(.delete(zone: zone, record: number(0..<5)))
    case 40: return .commit(.deleteZone(zone))
    case 41: return .commit(.forgetDeletions)
    case 42: return .commit(.index(CrashOperation.randomKinds(&generator)))
    case 43..<45: return .savepoints(zone: zone, count: number(2..<8))
    case 45..<47: return .abort(zone: zone, count: number(0..<3) == 0 ? number(9..<40) : number(1..<9))
    case 47..<52: return .checkpoint
    case 52..<54: return .note
    case 54: return .zeros
    case 55..<57: return .sync
    case 57..<60: return .compact
    case 60: return .backup
    case 61: return .collect
    case 62..<69: return .refresh
    case 69..<75: return .read
    case 75..<77: return .hold
    case 77..<79: return .look
    case 79..<82: return .suspend
    case 82..<85: return .resume
    case 85..<89: return .close
    case 89..<93: return .dieSoon(calls: number(1..<25))
    case 93..<98: return .fail(.random(&generator))
    case 98: return .limit(number(0..<20_000))
    default: return .limit(nil)
    }
  }
}

extension ProcessFault {
  static func random(_ generator: inout SeededGenerator) -> ProcessFault {
    let all: [DiskFailure.Operation] = [
      .sync, .sync, .sync, .sync, .sync, .write, .write, .syncDirectory, .rename, .truncate, .lock, .status, .open, .create,
      .map, .read, .remove,
    ]
    let operation = all.randomElement(using: &generator) ?? .sync
    var fault = ProcessFault(
      operation: operation, call: Int.random(in: 1..<5, using: &generator),
      code: Bool.random(using: &generator) ? ErrorNumber.noSpace : ErrorNumber.inputOutput)
    fault.repeats = Int.random(in: 0..<5, using: &generator) == 0
    fault.dropsPages = Bool.random(using: &generator)
    fault.tellsEverybody = Bool.random(using: &generator)
    return fault
  }
}
