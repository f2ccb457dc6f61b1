import DaybookEngine

/// What a transaction has done so far, for watchers: made only where there is one when it begins.
///
/// It keeps the bodies that a save or a delete has read or made anyway, and copies none. Memory is bounded, whatever a
/// transaction does: after so many changes nothing more is kept, after so many bytes no more bodies, and watchers who wanted them
/// learn only that there was too much. Rolling back to a savepoint removes what came after it.
struct ChangeRecorder: Sendable {
  struct Limits: Sendable {
    /// Of one commit; some 200 bytes each. All that wait for their sync may have four times as many.
    var changeCount = 100_000
    /// Of the bodies of one commit; as above.
    var bodyByteCount = 16 << 20

    /// What is left for one more commit while others wait.
    func left(beside waiting: Mark) -> Limits {
      Limits(
        changeCount: min(changeCount, max(0, 4 * changeCount - waiting.count)),
        bodyByteCount: min(bodyByteCount, max(0, 4 * bodyByteCount - waiting.bodyByteCount)))
    }
  }

  enum Event: Sendable {
    /// Both bodies are nil where no watcher wants them, or where there was no room for them.
    case record(Record.ID, old: RecordBody?, new: RecordBody?, isDeleted: Bool)
    case savedZone(Zone.ID, isNew: Bool)
    case deletedZone(Zone.ID, ZoneDeletion)

    var zone: Zone.ID {
      switch self {
      case .record(let id, _, _, _): id.zone
      case .savedZone(let id, _), .deletedZone(let id, _): id
      }
    }
  }

  /// How many changes there were, and bytes of their bodies: what a rollback to a savepoint restores.
  struct Mark {
    fileprivate(set) var count = 0
    fileprivate(set) var bodyByteCount = 0

    mutating func add(_ other: Mark) {
      count += other.count
      bodyByteCount += other.bodyByteCount
    }

    mutating func subtract(_ other: Mark) {
      count -= other.count
      bodyByteCount -= other.bodyByteCount
    }
  }

  /// What those who watch want, each once.
  let interests: [WatchInterest]
  private let limits: Limits
  private(set) var events: [Event] = []
  /// Events that found no room: those after `events`.
  private var droppedCount = 0
  private var bodyByteCount = 0
  /// The first event whose bodies were wanted and found no room; those of later events found none either.
  private var firstWithoutBodies: Int?

  init(_ interests: [WatchInterest], _ limits: Limits = Limits()) {
    self.interests = interests
    self.limits = limits
  }

  /// Whether all changes are there.
  var isComplete: Bool { droppedCount == 0 }
  /// Whether all bodies are there that a watcher wanted.
  var hasAllBodies: Bool { isComplete && firstWithoutBodies == nil }

  var mark: Mark { Mark(count: events.count + droppedCount, bodyByteCount: bodyByteCount) }
  /// What it keeps.
  var kept: Mark { Mark(count: events.count, bodyByteCount: bodyByteCount) }

  mutating func rollBack(to mark: Mark) {
    events.removeSubrange(min(mark.count, events.count)...)
    droppedCount = mark.count - events.count
    bodyByteCount = mark.bodyByteCount
    if let first = firstWithoutBodies, first >= mark.count { firstWithoutBodies = nil }
  }

  /// A record was saved, or deleted where it has no new body.
  mutating func add(_ id: Record.ID, old: RecordBody?, new: RecordBody?) {
    var (isWanted, wantsBodies) = (false, false)
    for interest in interests where interest.covers(id.zone) {
      if !interest.wantsBodies {
        isWanted = true
      } else if !wantsBodies, interest.coversType(of: new ?? old) {
        (isWanted, wantsBodies) = (true, true)
      }
    }
    guard isWanted, hasRoom() else { return }
    if wantsBodies, firstWithoutBodies == nil {
      let byteCount = (old?.byteCount ?? 0) + (new?.byteCount ?? 0)
      if byteCount > limits.bodyByteCount - bodyByteCount {
        firstWithoutBodies = events.count
      } else {
        bodyByteCount += byteCount
      }
    }
    let keepsBodies = wantsBodies && firstWithoutBodies == nil
    events.append(
      .record(id, old: keepsBodies ? old : nil, new: keepsBodies ? new : nil, isDeleted: new == nil))
  }

  /// A zone was made, or its capabilities were changed.
  mutating func addSaved(_ zone: Zone.ID, isNew: Bool) {
    if isWatched(zone), hasRoom() { events.append(.savedZone(zone, isNew: isNew)) }
  }

  mutating func addDeleted(_ zone: Zone.ID, _ deletion: ZoneDeletion) {
    guard isWatched(zone), hasRoom() else { return }
    var deletion = deletion
    // Subscriptions are few. Without room they are dropped silently: by the time a stream could ask, they are deleted.
    let byteCount = deletion.subscriptions.count * StoredSubscriptions.maximumByteCount
    if byteCount > limits.bodyByteCount - bodyByteCount { deletion.subscriptions = [] } else { bodyByteCount += byteCount }
    events.append(.deletedZone(zone, deletion))
  }

  func isWatched(_ zone: Zone.ID) -> Bool { interests.contains { $0.covers(zone) } }

  /// Whether there is room for one more; counts it where there is none.
  private mutating func hasRoom() -> Bool {
    if droppedCount == 0, events.count < limits.changeCount { return true }
    droppedCount += 1
    return false
  }
}
