import DaybookTesting
import Testing

@testable import Daybook
@testable import DaybookEngine

// The search of `Scripts/crash.sh threads`, a small part of it: several threads of one database on a simulated disk, which meet
// at its locks under every schedule that a seed may draw.

@Suite("thread searches")
struct ThreadSearchTests {
  @Test("a schedule of threads is played again as it was drawn, lock by lock")
  func repeats() {
    for seed in 1...6 as ClosedRange<UInt64> {
      let (settings, scripts, schedule) = ProcessSwarm.draw(.threads, seed: seed)
      let first = ProcessSwarm.play(settings, scripts, schedule)
      let second = ProcessSwarm.play(settings, scripts, schedule)
      #expect(first.handOvers == second.handOvers && first.fingerprint == second.fingerprint)
      let listed = ProcessSwarm.play(settings, scripts, .handOvers(first.handOvers))
      #expect(listed.handOvers == first.handOvers && listed.fingerprint == first.fingerprint)
    }
  }

  @Test("threads of one database keep every promise")
  func promises() {
    let swarm = ProcessSwarm(.threads)
    // The last ones show mistakes of `Scripts/mutants.sh` about who waits for which sync.
    for seed in Array(1...40) + [41, 69, 88] as [UInt64] {
      if let finding = swarm.run(seed: seed) { Issue.record("\(finding)") }
    }
    #expect(swarm.counts[.handOvers] > 500, "\(swarm.counts)")
  }

  @Test("threads whose syncs do nothing are found out")
  func ignoredSyncs() throws {
    let swarm = ProcessSwarm(.threads, mistake: .ignoresSyncs)
    let finding = try #require((1...40 as ClosedRange<UInt64>).lazy.compactMap { swarm.run(seed: $0) }.first)
    #expect(finding.stepCount <= 4, "\(finding)")
  }
}
