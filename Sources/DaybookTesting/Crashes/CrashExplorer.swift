/// Makes images of a disk at one moment, in all requested ways, and examines each new one: opens it, compares, and lets the
/// power fail again within the recovery, down to a depth.
///
///     run ─ before call 17 ─┬─ image ─ open ─┬─ before call 1 of recovery ─ image ─ open ─ …
///                           ├─ image         └─ before call 2 of recovery ─ image …
///                           └─ …
///
/// Two images with the same bytes count as one: it is opened once, and compared with each expectation.
import DaybookEngine

@safe package final class CrashExplorer: @unchecked Sendable {
  let settings: CrashSettings
  let operations: [CrashOperation]
  let depth: CrashDepth
  var counts = SearchCounts<CrashCounter>()
  var finding: CrashFinding?
  /// What was found in images, by their fingerprints. Explorers of one seed may share it.
  var seen: [UInt64: CrashVerifier.Found] = [:]

  init(_ settings: CrashSettings, _ operations: [CrashOperation], depth: CrashDepth) {
    self.settings = settings
    self.operations = operations
    self.depth = depth
  }

  /// Tries every choice, or many if there are too many.
  func explore(_ disk: SimulatedDisk, _ verifier: CrashVerifier, before call: Int, _ trail: [CrashStep] = []) {
    guard finding == nil else { return }
    counts[.crashPoints] += trail.isEmpty ? 1 : 0
    let moment = CrashMoment(disk)
    let pending = moment.pending
    let seed = settings.seed &* 7919 &+ UInt64(call)
    let isNested = !trail.isEmpty
    let unitLimit = isNested ? depth.nestedUnitCount : depth.everySubsetUnitCount
    examineKill(moment, verifier, before: call, trail)
    if pending.unitCount > unitLimit {
      var generator = SeededGenerator(seed: seed)
      for _ in 0..<(isNested ? depth.nestedRandomCount : depth.randomSubsetCount) {
        examine(moment, .random(pending, &generator), verifier, before: call, trail)
      }
      return
    }
    let nameLimit = min(pending.nameCount, 4)
    for nameBits in 0..<UInt64(1) << UInt64(nameLimit) {
      var names = NumberSet(bits: nameBits)
      for name in nameLimit..<pending.nameCount { names.insert(name) }
      for unitBits in 0..<UInt64(1) << UInt64(pending.unitCount) {
        let choice = CrashChoice(units: NumberSet(bits: unitBits), names: names, seed: seed &+ unitBits)
        examine(moment, choice, verifier, before: call, trail)
        examineVariants(of: choice, Int(unitBits), moment, verifier, before: call, trail)
      }
    }
  }

  /// Examines a kill: the process dies and the system does not. The cache still shows what was not synced, and once shown, that
  /// must survive.
  private func examineKill(_ moment: CrashMoment, _ verifier: CrashVerifier, before call: Int, _ trail: [CrashStep]) {
    // Only at the top: otherwise the recovery after a kill would be killed at each of its calls, and so on.
    guard trail.isEmpty else { return }
    var choice = CrashChoice(units: [], names: [], seed: settings.seed)
    choice.isKill = true
    examine(moment, choice, verifier, before: call, trail)
  }

  /// Tries the same sectors with other sizes, other content in unwritten space, a torn sector. All of that if there are few
  /// sectors.
  private func examineVariants(
    of choice: CrashChoice, _ number: Int, _ moment: CrashMoment, _ verifier: CrashVerifier, before call: Int,
    _ trail: [CrashStep]
  ) {
    let pending = moment.pending
    func examineVariant(_ change: (inout CrashChoice) -> Void) {
      var variant = choice
      change(&variant)
      examine(moment, variant, verifier, before: call, trail)
    }
    let isFew = pending.unitCount <= 5
    if pending.hasSizes {
      if isFew || number & 1 == 0 { examineVariant { $0.size = .old } }
      if isFew || number & 1 == 1 { examineVariant { $0.size = .between(eighths: 1 + number % 7) } }
    }
    if choice.units.count < pending.unitCount || pending.hasSizes {
      if isFew || number & 1 == 0 { examineVariant { $0.unwritten = .garbage } }
      if isFew || number & 1 == 1 { examineVariant { $0.unwritten = .recycled } }
    }
    for unit in 0..<pending.unitCount where isFew || unit == number % pending.unitCount {
      examineVariant {
        $0.torn = unit
        $0.unwritten = [.zeros, .garbage, .recycled][(number + unit) % 3]
      }
    }
  }

  /// Examines one image: looks it up, and makes and opens it if it is new.
  func examine(
    _ moment: CrashMoment, _ choice: CrashChoice, _ verifier: CrashVerifier, before call: Int, _ trail: [CrashStep]
  ) {
    guard finding == nil else { return }
    let isNested = !trail.isEmpty
    let level = trail.count + 1
    if isNested { counts[.nestedImages] += 1 } else { counts[.images] += 1 }
    let fingerprint = moment.fingerprint(of: choice)
    do {
      // After a kill the same bytes may be durable or not. An image from a deep recovery was crashed less often than one found
      // higher up.
      if !choice.isKill, let found = seen[fingerprint], found.level <= level {
        if isNested { counts[.nestedDuplicates] += 1 } else { counts[.duplicates] += 1 }
        return try verifier.check(found)
      }
      let isThorough = choice.isKill || fingerprint % UInt64(depth.thoroughEvery) == 0
      if isThorough { counts[.thorough] += 1 }
      let image = moment.image(of: choice)
      var observer: (@Sendable (SimulatedCall) throws(DiskFailure) -> Void)?
      if level <= depth.nesting, fingerprint >> 8 % UInt64(depth.nestedEvery) == 0 {
        let trail = trail + [CrashStep(call: call, choice: choice)]
        observer = { [unowned self, unowned image] call throws(DiskFailure) in
          explore(image, verifier, before: call.number, trail)
        }
      }
      var found = try verifier.verify(image, thoroughly: isThorough, observer: observer)
      found.level = level
      if !choice.isKill { seen[fingerprint] = found }
    } catch {
      if finding == nil {
        finding = CrashFinding(
          message: "\(error)", settings: settings, operations: operations,
          trail: trail + [CrashStep(call: call, choice: choice)])
      }
    }
  }

  /// Repeats the same crashes. Returns what is wrong, or nil.
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
