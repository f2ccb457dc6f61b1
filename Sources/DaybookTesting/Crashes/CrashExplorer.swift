/// Makes images of a disk at one moment, in all the ways asked for, and looks at each that was not seen before: opens it,
/// compares, and lets the power fail again within the recovery, down to a depth.
///
///     run ─ before call 17 ─┬─ image ─ open ─┬─ before call 1 of recovery ─ image ─ open ─ …
///                           ├─ image         └─ before call 2 of recovery ─ image …
///                           └─ …
///
/// Two images with the same bytes are one image: it is opened once, and held against each expectation.
import DaybookEngine

/// How thoroughly to look.
package struct CrashDepth: Sendable {
  /// Every subset of the pending units while they are no more than this, random ones above.
  package var everySubsetUnitCount = 12
  package var randomSubsetCount = 4096
  /// The same within a recovery, which is crashed this many times, one within the other.
  package var nestedUnitCount = 3
  package var nestedRandomCount = 8
  package var nesting = 3
  /// Recovery is cut for one image in this many, and one in this many is checked to the last byte and written on.
  package var nestedEvery = 1
  package var thoroughEvery = 16

  package init() {}
}

package struct CrashCounts: Sendable, CustomStringConvertible {
  package var runs = 0
  package var crashPoints = 0
  package var images = 0
  package var duplicates = 0
  package var nestedImages = 0
  package var nestedDuplicates = 0
  package var thorough = 0

  package init() {}

  package var crashes: Int { images + nestedImages }

  package var description: String {
    "\(crashes) crashes at \(crashPoints) points of \(runs) runs: \(images) images, \(duplicates) of them duplicates; "
      + "\(nestedImages) images of crashed recoveries, \(nestedDuplicates) of them duplicates; \(thorough) checked to the last byte"
  }

  package static func += (left: inout CrashCounts, right: CrashCounts) {
    left.runs += right.runs
    left.crashPoints += right.crashPoints
    left.images += right.images
    left.duplicates += right.duplicates
    left.nestedImages += right.nestedImages
    left.nestedDuplicates += right.nestedDuplicates
    left.thorough += right.thorough
  }
}

/// One crash of a trail: before which call, and what it left. The first call is one of the run, the others of recoveries.
package struct CrashStep: Sendable, CustomStringConvertible {
  package var call: Int
  package var choice: CrashChoice
  package var description: String { "before call \(call): \(choice)" }
}

/// A broken promise, with all that is needed to see it again.
package struct CrashFinding: Sendable, CustomStringConvertible {
  package var message: String
  package var settings: CrashSettings
  package var operations: [CrashOperation]
  package var trail: [CrashStep]

  package var description: String {
    var lines = ["finding: \(message)", "  seed \(settings.seed); \(settings)"]
    for (index, operation) in operations.enumerated() { lines.append("  \(index + 1). \(operation)") }
    if trail.isEmpty { lines.append("  no crash: the running database itself is wrong") }
    for (index, step) in trail.enumerated() {
      lines.append("  \(index == 0 ? "power fails" : "power fails in the recovery") \(step)")
    }
    return lines.joined(separator: "\n")
  }
}

@safe package final class CrashExplorer: @unchecked Sendable {
  let settings: CrashSettings
  let operations: [CrashOperation]
  let depth: CrashDepth
  var counts = CrashCounts()
  var finding: CrashFinding?
  /// What was found in images, by their fingerprints. May be handed from explorer to explorer of one seed.
  var seen: [UInt64: CrashVerifier.Found] = [:]

  init(_ settings: CrashSettings, _ operations: [CrashOperation], depth: CrashDepth) {
    self.settings = settings
    self.operations = operations
    self.depth = depth
  }

  /// Every choice there is, or many when there are too many.
  func explore(_ disk: SimulatedDisk, _ expectation: CrashExpectation, before call: Int, _ trail: [CrashStep] = []) {
    guard finding == nil else { return }
    counts.crashPoints += trail.isEmpty ? 1 : 0
    let pending = disk.pendingChanges
    let seed = settings.seed &* 7919 &+ UInt64(call)
    let isNested = !trail.isEmpty
    let unitLimit = isNested ? depth.nestedUnitCount : depth.everySubsetUnitCount
    examineKill(disk, expectation, before: call, trail)
    if pending.unitCount > unitLimit {
      var generator = SeededGenerator(seed: seed)
      for _ in 0..<(isNested ? depth.nestedRandomCount : depth.randomSubsetCount) {
        examine(disk, .random(pending, &generator), expectation, before: call, trail)
      }
      return
    }
    let nameLimit = min(pending.nameCount, 4)
    for names in 0..<1 << nameLimit {
      for units in 0..<1 << pending.unitCount {
        let choice = CrashChoice(
          units: Set((0..<pending.unitCount).filter { units & 1 << $0 != 0 }),
          names: Set((0..<pending.nameCount).filter { $0 >= nameLimit || names & 1 << $0 != 0 }), seed: seed &+ UInt64(units))
        examine(disk, choice, expectation, before: call, trail)
        for variant in variants(of: choice, pending, units) { examine(disk, variant, expectation, before: call, trail) }
      }
    }
  }

  /// The process dies and the system does not: what nobody has synced is shown by the cache, and must survive once shown.
  private func examineKill(
    _ disk: SimulatedDisk, _ expectation: CrashExpectation, before call: Int, _ trail: [CrashStep]
  ) {
    // Below that the recovery of a killed one would be killed at each of its calls, and so on.
    guard trail.isEmpty else { return }
    var choice = CrashChoice(units: [], names: [], seed: settings.seed)
    choice.isKill = true
    examine(disk, choice, expectation, before: call, trail)
  }

  /// The same sectors with other sizes, other things in unwritten space, a torn sector. All while there are few sectors.
  private func variants(of choice: CrashChoice, _ pending: PendingChanges, _ number: Int) -> [CrashChoice] {
    var variants: [CrashChoice] = []
    func add(_ change: (inout CrashChoice) -> Void) {
      var variant = choice
      change(&variant)
      variants.append(variant)
    }
    let isFew = pending.unitCount <= 5
    if pending.hasSizes {
      if isFew || number & 1 == 0 { add { $0.size = .old } }
      if isFew || number & 1 == 1 { add { $0.size = .between(eighths: 1 + number % 7) } }
    }
    if choice.units.count < pending.unitCount || pending.hasSizes {
      if isFew || number & 1 == 0 { add { $0.unwritten = .garbage } }
      if isFew || number & 1 == 1 { add { $0.unwritten = .recycled } }
    }
    for unit in 0..<pending.unitCount where isFew || unit == number % pending.unitCount {
      add {
        $0.torn = unit
        $0.unwritten = [.zeros, .garbage, .recycled][(number + unit) % 3]
      }
    }
    return variants
  }

  /// One image: made, looked up, opened.
  func examine(
    _ disk: SimulatedDisk, _ choice: CrashChoice, _ expectation: CrashExpectation, before call: Int, _ trail: [CrashStep]
  ) {
    guard finding == nil else { return }
    let isNested = !trail.isEmpty
    if isNested { counts.nestedImages += 1 } else { counts.images += 1 }
    let image = disk.crashed(choice)
    let verifier = CrashVerifier(settings: settings, expectation: expectation)
    let trail = trail + [CrashStep(call: call, choice: choice)]
    let fingerprint = image.fingerprint
    do {
      // After a kill the same bytes may be durable or not.
      // An image of a deep recovery was not crashed as often as one that is found higher up now.
      if !choice.isKill, let found = seen[fingerprint], found.level <= trail.count {
        if isNested { counts.nestedDuplicates += 1 } else { counts.duplicates += 1 }
        return try verifier.check(found)
      }
      let isThorough = choice.isKill || fingerprint % UInt64(depth.thoroughEvery) == 0
      if isThorough { counts.thorough += 1 }
      var observer: (@Sendable (SimulatedCall) throws(DiskFailure) -> Void)?
      if trail.count <= depth.nesting, fingerprint >> 8 % UInt64(depth.nestedEvery) == 0 {
        observer = { [unowned self, unowned image] call throws(DiskFailure) in
          explore(image, expectation, before: call.number, trail)
        }
      }
      var found = try verifier.verify(image, thoroughly: isThorough, observer: observer)
      found.level = trail.count
      if !choice.isKill { seen[fingerprint] = found }
    } catch {
      if finding == nil {
        finding = CrashFinding(message: "\(error)", settings: settings, operations: operations, trail: trail)
      }
    }
  }

  /// The same crashes again; what is wrong, or nil.
  package static func replay(_ finding: CrashFinding) -> String? {
    let run = CrashRun(finding.settings, finding.operations)
    let message = Locked<String?>(nil)
    run.onCall = { run, _, call in
      guard let step = finding.trail.first, step.call == call else { return }
      do { try replay(finding.trail[...], on: run.disk, run.expectation, finding.settings) } catch {
        message.withLock { $0 = $0 ?? "\(error)" }
      }
    }
    do { try run.run() } catch { message.withLock { $0 = $0 ?? "\(error)" } }
    return message.withLock { $0 }
  }

  private static func replay(
    _ trail: ArraySlice<CrashStep>, on disk: SimulatedDisk, _ expectation: CrashExpectation, _ settings: CrashSettings
  ) throws {
    guard let step = trail.first else { return }
    let image = disk.crashed(step.choice)
    let verifier = CrashVerifier(settings: settings, expectation: expectation)
    let rest = trail.dropFirst()
    guard let next = rest.first else {
      _ = try verifier.verify(image, thoroughly: true)
      return
    }
    let failure = Locked<(any Error)?>(nil)
    _ = try verifier.verify(image, thoroughly: false) { [unowned image] call throws(DiskFailure) in
      guard call.number == next.call else { return }
      do { try replay(rest, on: image, expectation, settings) } catch { failure.withLock { $0 = $0 ?? error } }
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }
}
