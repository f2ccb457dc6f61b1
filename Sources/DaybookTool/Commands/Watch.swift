import Daybook
import Foundation

extension Commands {
  static let watch = Command(
    name: "watch", summary: "Follow a live database: print a line for each commit, or what becomes of a query's result.",
    positionals: ["FILE"],
    options: [
      .value("--since", "SEQUENCE", "Begin with the commits after this one; with new ones when left out."),
      .value("--query", "PREDICATE", "Print what becomes of the records that it accepts, instead of commits."),
      .value("--type", "TYPE", "Of a query: only records of this type."),
      .value("--zone", "ZONE", "Of a query: only this zone."), .owner,
      .value("--sort", "KEY", "Of a query: by this field, with - before it downwards; several in turn.", mayRepeat: true),
      .value("--limit", "N", "End after this many commits, or changes of the result."), .json,
    ],
    details: """
      Looks four times a second, reads only, and never holds up who writes. It shows what is durable, so the last commit
      of a busy writer may come with the next. With --json a line is an object.
      With --query it prints first all records that are found, and then, after each look that finds the result changed,
      which ones were removed, moved, inserted and updated: positions as in a list, those of removed ones in the list
      before, and the lines of dump. `daybook help query` says what a PREDICATE has. Without --sort it is by name.
      """
  ) { invocation in
    let arguments = invocation.arguments
    var left = try arguments.count("--limit") ?? .max
    let query = try invocation.watchedQuery()
    var known: UInt64?
    if let text = arguments.value("--since") {
      guard let sequence = UInt64(text) else { throw ToolError.usage("--since needs the sequence of a commit.") }
      known = sequence
    }
    var options = invocation.databaseOptions
    options.isReadOnly = true
    let database = try Database.open(at: arguments[0], options: options)
    if var query {
      query.zone = try invocation.selectedZone(database)
      return try invocation.watchResult(of: query, database, atMost: left)
    }
    var last = try known ?? database.statistics().lastSequence
    try invocation.note("watching \(arguments[0]) from commit \(last) on; control-C ends")
    let newest = try database.statistics().lastSequence
    if last > newest {
      try invocation.note("daybook: the last commit is \(newest); nothing is printed before there is one after \(last)")
    }
    try invocation.errors.flush()
    var position = Database.FramePosition()
    while true {
      left -= try printCommits(database, from: &position, after: &last, atMost: left, invocation)
      if left <= 0 { return .done }
      repeat { Thread.sleep(forTimeInterval: 0.25) } while try !database.refresh()
    }
  }

  /// Prints the commits after `known`, which moves along.
  private static func printCommits(
    _ database: Database, from position: inout Database.FramePosition, after known: inout UInt64, atMost limit: Int,
    _ invocation: Invocation
  ) throws -> Int {
    let first = known
    guard try database.statistics().lastSequence > first else { return 0 }
    var parts = Database.FrameInfo.Deeds()
    var count = 0
    try database.frames(from: &position) { frame in
      if frame.kind == "part" { parts.add(frame) }
      guard frame.kind == "commit" else { return true }
      defer { parts = .init() }
      guard frame.sequence > first else { return true }
      if frame.isImage {
        // A compaction took them before they were seen here; what each did is not in the file any more.
        try invocation.note("commits \(first + 1) to \(frame.sequence) were compacted")
        try invocation.errors.flush()
        known = frame.sequence
        return true
      }
      var whole = frame
      parts.add(to: &whole)
      if invocation.arguments.has("--json") {
        try invocation.output.line(json(whole).json)
      } else {
        try invocation.output.line("commit \(whole.sequence)  \(deeds(whole))")
      }
      count += 1
      known = frame.sequence
      return count < limit
    }
    try invocation.output.flush()
    return count
  }
}

extension Database.FrameInfo {
  /// What the parts of a large commit did, gathered until the commit's own frame comes.
  fileprivate struct Deeds {
    private var savedCount = 0
    private var deletedCount = 0
    private var zoneOperationCount = 0
    private var metadataOperationCount = 0
    private var date: Date?
    private var origin: String?

    mutating func add(_ frame: Database.FrameInfo) {
      savedCount += frame.savedCount
      deletedCount += frame.deletedCount
      zoneOperationCount += frame.zoneOperationCount
      metadataOperationCount += frame.metadataOperationCount
      date = date ?? frame.date
      origin = origin ?? frame.origin
    }

    func add(to frame: inout Database.FrameInfo) {
      frame.savedCount += savedCount
      frame.deletedCount += deletedCount
      frame.zoneOperationCount += zoneOperationCount
      frame.metadataOperationCount += metadataOperationCount
      frame.date = frame.date ?? date
      frame.origin = frame.origin ?? origin
    }
  }
}
