import DaybookEngine

/// Two processes: every pair of short scripts, and every place where one hands over to the other and back.
///
///     actor 0   first ┓     ┏━━ script … ┓           ┏━ rest
///     actor 1         ┗ first            ┗ script … ━┛      ┗━ rest
///                                        ↑ each call  ↑ each call, and none
///
/// Two hand-overs find what two processes can do to each other between two calls of one; the random search covers more. The
/// power fails now and then, and at the end.
package final class ProcessExhaustion {
  package private(set) var counts = SearchCounts<ProcessCounter>()
  private let length: Int
  private let mistake: ProcessSettings.Mistake?
  private let checksTags: Bool

  private static let pairs: [(ProcessSettings.Role, ProcessSettings.Role)] = [
    (.sharer, .sharer), (.soleWriter, .follower), (.follower, .soleWriter), (.sharer, .follower),
    (.follower, .sharer),
    (.soleWriter, .sharer), (.sharer, .soleWriter),
  ]

  private static let writerActions: [[ProcessAction]] = [
    [.commit(.save(zone: 0, record: 0, byteCount: 40))],
    [.commit(.saveMany(zone: 0, count: 6, byteCount: 300))],
    [.checkpoint], [.compact], [.close], [.refresh], [.suspend, .resume],
    [
      .fail(ProcessFault(operation: .sync, call: 1, code: ErrorNumber.inputOutput)),
      .commit(.save(zone: 0, record: 1, byteCount: 40)),
    ],
    [.dieSoon(calls: 6), .commit(.save(zone: 0, record: 1, byteCount: 40))],
  ]

  private static let readerActions: [[ProcessAction]] = [[.refresh], [.close, .read], [.suspend, .refresh, .resume]]

  /// One case: who the two are and what they do.
  package struct Case: Sendable, CustomStringConvertible {
    let roles: [ProcessSettings.Role]
    let scripts: [[ProcessStep]]
    package var description: String {
      zip(roles, scripts).map { "\($0.rawValue): \($1.dropFirst().map(\.action.description).joined(separator: ", "))" }
        .joined(separator: " | ")
    }
  }

  package let cases: [Case]

  package init(length: Int = 1, mistake: ProcessSettings.Mistake? = nil, checksTags: Bool = false) {
    self.length = length
    self.mistake = mistake
    self.checksTags = checksTags
    var cases: [Case] = []
    for pair in Self.pairs {
      for left in Self.scripts(pair.0, length) {
        for right in Self.scripts(pair.1, length) { cases.append(Case(roles: [pair.0, pair.1], scripts: [left, right])) }
      }
    }
    self.cases = cases
  }

  private static func scripts(_ role: ProcessSettings.Role, _ length: Int) -> [[ProcessStep]] {
    let actions = role == .follower ? readerActions : writerActions
    var all: [[ProcessAction]] = [[]]
    var longest = all
    for _ in 0..<length {
      longest = longest.flatMap { script in actions.map { script + $0 } }
      all += longest
    }
    let first: ProcessAction = role == .follower ? .read : .commit(.save(zone: 0, record: 2, byteCount: 30))
    return all.dropFirst().map { script in
      ([first] + script).enumerated().map { ProcessStep(number: $0.offset + 1, action: $0.element) }
    }
  }

  /// Explores all schedules of one case.
  package func explore(_ number: Int) -> ProcessFinding? {
    let this = cases[number]
    var settings = ProcessSettings(seed: UInt64(number + 1), members: this.roles.map { ProcessSettings.Member(role: $0) })
    settings.mistake = mistake
    let depth = ProcessDepth(momentsOneIn: 30, crashesPerMoment: 2, thoroughEvery: 20)
    let explorer = ProcessExplorer()
    defer { counts += explorer.counts }
    // Both have done their first step when the scripts begin.
    let start = [HandOver(actor: 0, step: 2, call: 1, to: 1), HandOver(actor: 1, step: 2, call: 1, to: 0)]
    func run(_ more: [HandOver]) -> ProcessFinding? {
      explorer.explore(settings, this.scripts, .handOvers(start + more), depth, checksTags: checksTags)
    }
    func hasHappened(_ handOver: HandOver) -> Bool { explorer.lastHandOvers.contains(handOver) }
    var finding = run([])
    outer: for step in this.scripts[0].dropFirst() {
      var call = step.number == 2 ? 2 : 1
      while finding == nil {
        let there = HandOver(actor: 0, step: step.number, call: call, to: 1)
        finding = run([there])
        if finding != nil { break outer }
        if !hasHappened(there) { break }
        for backStep in this.scripts[1].dropFirst() {
          var backCall = backStep.number == 2 ? 2 : 1
          while finding == nil {
            let back = HandOver(actor: 1, step: backStep.number, call: backCall, to: 0)
            finding = run([there, back])
            if !hasHappened(back) { break }
            backCall += 1
          }
          if finding != nil { break outer }
        }
        call += 1
      }
    }
    return finding.map { ProcessSwarm.shrink($0, checksTags: checksTags) }
  }
}
