import Testing

@testable import Daybook
@testable import DaybookEngine
@testable import DaybookTesting

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

  @Test(
    "what a thread has saved while another compacts, it reads, at whatever call of the compaction",
    arguments: [Database.Options.Durability.relaxed, .full])
  func readsBesideCompaction(durability: Database.Options.Durability) {
    let callCount = handOverAtEachCall(
      of: 2, durability, [.commit(.save(zone: 0, record: 0, byteCount: 40)), .compact],
      [.commit(.save(zone: 1, record: 1, byteCount: 40)), .read])
    #expect(callCount > 50)
  }

  @Test(
    "who commits while another thread syncs comes back, at whatever call of the other's commit",
    arguments: [Database.Options.Durability.relaxed, .full])
  func commitsBesideSync(durability: Database.Options.Durability) {
    let save = { ProcessAction.commit(.save(zone: $0, record: $0, byteCount: 40)) }
    let callCount = handOverAtEachCall(of: 2, durability, [save(0), save(0)], [save(1), save(1)])
    #expect(callCount > 5)
  }

  /// Plays two threads of one database, the second going on before one call of the first one's step, for each call that the step
  /// has. Returns how many these are.
  private func handOverAtEachCall(
    of step: Int, _ durability: Database.Options.Durability, _ first: [ProcessAction], _ second: [ProcessAction]
  ) -> Int {
    var member = ProcessSettings.Member(role: .soleWriter)
    member.durability = durability
    var settings = ProcessSettings(seed: 1, members: [member])
    settings.homes = [0, 0]
    let scripts = [first, second].map { actions in
      actions.enumerated().map { ProcessStep(number: $0.offset + 1, action: $0.element) }
    }
    for call in 1...1000 {
      let there = HandOver(actor: 0, step: step, call: call, to: 1)
      let run = ProcessSwarm.play(settings, scripts, .handOvers([there]))
      if let finding = run.finding { Issue.record("before call \(call): \(finding)") }
      if !run.handOvers.contains(there) { return call - 1 }
    }
    Issue.record("a step without end")
    return 0
  }

  @Test("threads of one database keep every promise")
  func promises() {
    let swarm = ProcessSwarm(.threads)
    // The last ones show mistakes of `Scripts/mutants.sh` about who waits for which sync.
    for seed in Array(1...40) + [41, 69, 88, 113] as [UInt64] {
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
