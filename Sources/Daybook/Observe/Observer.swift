import DaybookEngine

/// What is observed: how it is read, and what commits make of it without reading it again.
protocol Observed: Sendable {
  associatedtype Value: Sendable

  /// The commits that can change it.
  var interest: WatchInterest { get }
  /// What it is, once it was read.
  var value: Value { get }
  /// How it is found out whether a change of a record concerns it.
  func makeTest() -> ObservedTest
  /// Reads all of it. Returns whether it is another than before; the first time it is.
  mutating func read(_ view: ReadView, _ stop: QueryStop) throws(DatabaseError) -> Bool
  /// Applies changes to the value. Returns whether the value is different now, or nil if it has to be read again.
  mutating func apply(_ changes: [ObservedChange]) -> Bool?
}

/// Whether changes of records concern what is observed.
enum ObservedTest {
  /// Any of the zones and types does, in a way that only reading tells.
  case any
  case record(Record.ID)
  case query(BodyFilter, type: String?, hidesUsers: Bool, ObservationKey?)

  /// What a change has to have to concern it.
  var key: ObservationKey? {
    switch self {
    case .any: nil
    case .record(let id): .record(id)
    case .query(_, _, _, let key): key
    }
  }

  /// What a change is to it; nil when nothing.
  func change(_ change: RecordChange, of commit: CommitChanges) -> ObservedChange? {
    switch self {
    case .any: return ObservedChange(commit, change, wasIn: true, isIn: true)
    case .record(let id):
      return change.id == id ? ObservedChange(commit, change, wasIn: true, isIn: true) : nil
    case .query(let filter, let type, let hidesUsers, _):
      func passes(_ body: RecordBody?) -> Bool {
        guard let body else { return false }
        if let type, !body.hasType(type) { return false }
        if hidesUsers, body.hasType(NameRules.userType) { return false }
        return filter.accepts(body)
      }
      let (wasIn, isIn) = (passes(change.old), passes(change.new))
      return wasIn || isIn ? ObservedChange(commit, change, wasIn: wasIn, isIn: isIn) : nil
    }
  }
}

/// A change of a record that concerns what is observed.
struct ObservedChange: Sendable {
  let sequence: UInt64
  /// The store of the commit: where an older file has taken the name, numbers go back.
  let store: Int
  let change: RecordChange
  /// Whether the record passed the predicate before.
  let wasIn: Bool
  /// Whether it passes now.
  let isIn: Bool

  init(_ commit: CommitChanges, _ change: RecordChange, wasIn: Bool, isIn: Bool) {
    sequence = commit.sequence
    store = commit.store
    self.change = change
    self.wasIn = wasIn
    self.isIn = isIn
  }

  var bodyByteCount: Int { (change.old?.byteCount ?? 0) + (change.new?.byteCount ?? 0) }
}

/// One observation: it keeps the changes that concern it until its consumer asks, and then makes the new value of them.
///
/// So a slow consumer gets the newest value only, and one that does not ask costs no more than the test of each change, and
/// after too many changes not even that.
///
/// Always true: the value is that of a version; `changes` are all those of later commits that concern it, or it is to be read
/// again.
final class Observer<Subject: Observed>: ObservationTarget {
  /// More than this is not kept for a slow consumer: the value is read again.
  private static var changeLimit: Int { 4096 }
  private static var bodyByteLimit: Int { 16 << 20 }

  private struct State: MailboxState {
    /// Nil while a consumer works on it.
    var subject: Subject?
    let test: ObservedTest
    /// What is known of it is out of date: the next consumer reads.
    var needsRead = true
    /// The commit that the value is of, and the store in which it was read.
    var sequence: UInt64 = 0
    var store = 0
    var changes: [ObservedChange] = []
    var bodyByteCount = 0
    var isFinished = false
    /// How often all of it was read.
    var readCount = 0

    var hasWork: Bool { needsRead || !changes.isEmpty }

    var isReady: Bool { isFinished || hasWork && subject != nil }

    mutating func dropChanges() {
      changes = []
      bodyByteCount = 0
    }
  }

  private enum Step {
    case end, wait
    case read(Subject)
    case apply(Subject, [ObservedChange])
  }

  let key: ObservationKey?
  private let mailbox: Mailbox<State>
  private let stop = QueryStop()
  private let interest: WatchInterest
  private let groups: ObservationGroups

  private init(_ subject: Subject, _ groups: ObservationGroups) {
    let test = subject.makeTest()
    key = test.key
    mailbox = Mailbox(State(subject: subject, test: test))
    interest = subject.interest
    self.groups = groups
  }

  /// What ends an observation: a consumer has it, and with the consumer it goes.
  final class Registration: Sendable {
    let observer: Observer
    private let database: Database
    /// False where the database was closed, or was closing: then the end would not be told.
    private let isAdded: Bool

    init(_ subject: Subject, of database: Database) {
      self.database = database
      observer = Observer(subject, database.observations)
      // Before the first read, so that no commit is between them.
      isAdded = database.observations.add(observer, observer.interest)
    }

    deinit { observer.finish() }

    /// The next value; nil when the database is closed or the task is cancelled.
    /// - Throws: `closed` when it was closed before it was observed.
    func next() async throws -> Subject.Value? {
      if isAdded { return try await observer.next(in: database) }
      return try await database.queues.read { [database] in try database.reading { _ in nil } }
    }
  }

  var readCount: Int { mailbox.withState { $0.readCount } }

  // MARK: changes

  func tell(_ commit: CommitChanges, _ records: [RecordChange]) {
    mailbox.withState { state in
      // A read is to come, and the commit is in what it will read.
      if state.needsRead { return }
      if commit.zoneChanges.contains(where: { $0.deletes(interest) }) {
        state.needsRead = true
        return state.dropChanges()
      }
      for record in records {
        guard let change = state.test.change(record, of: commit) else { continue }
        if case .any = state.test { state.needsRead = true }
        state.changes.append(change)
        state.bodyByteCount += change.bodyByteCount
        if state.changes.count > Self.changeLimit || state.bodyByteCount > Self.bodyByteLimit { state.needsRead = true }
        if state.needsRead { return state.dropChanges() }
      }
    }
  }

  func tellOfUnknown() {
    mailbox.withState { state in
      state.needsRead = true
      state.dropChanges()
    }
  }

  func finish() {
    if groups.areForked { return }
    // The end first: a read that is stopped looks whether it was for that.
    mailbox.withState { $0.isFinished = true }
    stop.set()
    groups.remove(self, interest)
  }

  // MARK: values

  fileprivate func next(in database: Database) async throws -> Subject.Value? {
    try await withTaskCancellationHandler {
      do {
        while true {
          switch takeStep() {
          case .end: return nil
          case .wait: await mailbox.wait()
          case .read(let subject):
            let (read, place, isNew) = try await read(subject, in: database)
            if put(read, at: place), isNew { return read.value }
          case .apply(var subject, let changes):
            guard let isNew = subject.apply(changes) else {
              put(subject, needsRead: true)
              continue
            }
            if put(subject), isNew { return subject.value }
          }
        }
      } catch {
        let isFinished = mailbox.withState { $0.isFinished }
        finish()
        switch (error as? DatabaseError)?.code {
        // What a query throws when it is stopped.
        case .operationCancelled? where isFinished: return nil
        // The database was closed while the read waited for its thread, and its end is not told yet.
        case .closed? where !groups.areForked: return nil
        default: throw error
        }
      }
    } onCancel: {
      finish()
    }
  }

  private func takeStep() -> Step {
    mailbox.withState { state in
      if state.isFinished { return .end }
      guard state.hasWork, let subject = state.subject else { return .wait }
      state.subject = nil
      if state.needsRead {
        state.needsRead = false
        state.readCount += 1
        state.dropChanges()
        return .read(subject)
      }
      // A read may have seen more than was published when it began; also a file that was restored since, where the commits of the
      // other history count no more.
      let changes = state.changes.filter {
        $0.store > state.store || $0.store == state.store && $0.sequence > state.sequence
      }
      state.dropChanges()
      return .apply(subject, changes)
    }
  }

  private func read(
    _ subject: Subject, in database: Database
  ) async throws -> (subject: Subject, place: (sequence: UInt64, store: Int), isNew: Bool) {
    let stop = stop
    return try await database.queues.read {
      var subject = subject
      let (place, isNew) = try database.reading { (view) throws(DatabaseError) in
        ((view.sequence, view.store.number), try subject.read(view, stop))
      }
      return (subject, place, isNew)
    }
  }

  /// Ends a consumer's work. Returns whether its value is to be handed out: not after the end.
  @discardableResult
  private func put(_ subject: Subject, at place: (sequence: UInt64, store: Int)? = nil, needsRead: Bool = false) -> Bool {
    mailbox.withState { state in
      state.subject = subject
      if let place { (state.sequence, state.store) = place }
      if needsRead {
        state.needsRead = true
        state.dropChanges()
      }
      return !state.isFinished
    }
  }
}
