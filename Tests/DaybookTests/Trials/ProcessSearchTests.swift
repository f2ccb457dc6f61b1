import DaybookTesting
import Testing

@testable import Daybook
@testable import DaybookEngine

// The searches of `Scripts/crash.sh processes`, a small part of each: several processes on one simulated disk, under every
// schedule that a seed may draw. A finding is printed as the smallest run that still fails.

@Suite("process searches")
struct ProcessSearchTests {
  @Test("a schedule is played again as it was drawn, call by call")
  func repeats() {
    for seed in 1...6 as ClosedRange<UInt64> {
      let (settings, scripts, schedule) = ProcessSwarm.draw(seed: seed)
      let first = ProcessSwarm.play(settings, scripts, schedule)
      let second = ProcessSwarm.play(settings, scripts, schedule)
      #expect(first.handOvers == second.handOvers && first.fingerprint == second.fingerprint)
      // A list of hand-overs is as good as the seed that drew them.
      let listed = ProcessSwarm.play(settings, scripts, .handOvers(first.handOvers))
      #expect(listed.handOvers == first.handOvers && listed.fingerprint == first.fingerprint)
    }
  }

  @Test("several processes keep every promise")
  func promises() {
    let swarm = ProcessSwarm()
    // The last ones show mistakes of `Scripts/mutants.sh`: about syncs that others have failed, and about what the dead leave.
    for seed in Array(1...40) + [196, 201, 219, 345] as [UInt64] {
      if let finding = swarm.run(seed: seed) { Issue.record("\(finding)") }
    }
    #expect(swarm.counts[.handOvers] > 100, "\(swarm.counts)")
  }

  /// Each seed was found in some hundred thousand points.
  @Test("what long searches have found stays found", arguments: [31_002_835, 52_001_961, 31_000_963] as [UInt64])
  func found(seed: UInt64) {
    if let finding = ProcessSwarm().run(seed: seed) { Issue.record("\(finding)") }
  }

  @Test("a process whose syncs do nothing is found out")
  func ignoredSyncs() throws {
    let swarm = ProcessSwarm(mistake: .ignoresSyncs)
    let finding = try #require((1...40 as ClosedRange<UInt64>).lazy.compactMap { swarm.run(seed: $0) }.first)
    #expect(finding.stepCount <= 4, "\(finding)")
  }

  @Test("a process that is granted locks which others hold is found out")
  func ignoredLocks() throws {
    let swarm = ProcessSwarm(mistake: .ignoresLocks)
    let finding = try #require((1...200 as ClosedRange<UInt64>).lazy.compactMap { swarm.run(seed: $0) }.first)
    #expect(finding.stepCount <= 12, "\(finding)")
  }
}
