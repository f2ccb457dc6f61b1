/// What the search for torn and corrupt tails counts.
package enum TailCounter: Int, SearchCounter {
  case runs, torn, cut, withCorruption, corrupt, doubtful, unnoticed, salvaged, cutShort

  package static func total(of counts: SearchCounts<Self>) -> Int { counts[.torn] + counts[.withCorruption] }

  package static func sentence(about counts: SearchCounts<Self>) -> String {
    "\(counts.total) tails of \(counts[.runs]) logs: \(counts[.torn]) as power loss leaves them, \(counts[.cut]) of these "
      + "lost commits, 0 called corrupt; \(counts[.withCorruption]) with corruption inside, \(counts[.corrupt]) of these "
      + "called corrupt, \(counts[.cutShort]) cut short, \(counts[.doubtful]) open to both answers, "
      + "\(counts[.unnoticed]) in what open need not read; \(counts[.salvaged]) salvaged"
  }
}
