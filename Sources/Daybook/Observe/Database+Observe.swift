import DaybookEngine

/// Values that follow the database: each stream gives what is there now, and then again whenever a commit can have changed it.
///
/// Whether one can is decided from the records that it changed, as they were and as they are; what is observed is not read
/// again for that. The result of a query is read again only when its limit has to be filled up, when a zone was deleted, when it
/// depends on `now()`, after commits of other processes (which come with ``refresh(to:)``, ``resume()``, or the next transaction),
/// or when one commit, or all that a slow consumer has not asked for yet, changed too much to be kept in memory. The time alone
/// changes no result: one with `now()` is read again with the next commit that changes records of its type and zone.
///
/// A stream gives nothing until its consumer asks, and then the newest value only: many commits make one value, and a slow
/// consumer never makes a writer wait. It ends when the database is closed or the task is cancelled, and fails with the
/// error of a read that fails: a query in one zone with `zoneNotFound` when that is deleted, while a record of it is nil from then on.
/// It keeps the database open; a stream that is cancelled or released costs nothing more.
///
/// Ask for a stream for each loop: loops over one stream share it, and cancelling the task of one ends it for all.
extension Database {
  /// What a query finds, now and after each commit that changes it.
  ///
  /// ```swift
  /// for try await movies in database.observe(Query("Movie", sort: [.ascending("title")], limit: 50)) {
  ///   list.show(movies)
  /// }
  /// ```
  /// - Parameters:
  ///   - query: what to look for.
  ///   - desiredKeys: the only fields that the records have; nil for all, empty for metadata only.
  /// - Returns: a stream of results, each as ``records(_:desiredKeys:)-(Query,_)`` would give it at that moment.
  /// - Complexity: the first result is a query. A commit costs a test of each record that it changes, and each result O(n)
  ///   of its records.
  public func observe(_ query: Query, desiredKeys: [String]? = nil) -> AsyncThrowingStream<[Record], any Error> {
    stream(of: ObservedQuery(query, desiredKeys: desiredKeys, in: self))
  }

  /// What becomes of the result of a query: each difference makes the result after it of the one before, the first of an empty
  /// one.
  ///
  /// ```swift
  /// var movies: [Record] = []
  /// for try await difference in database.observeDifferences(Query("Movie", sort: [.ascending("title")])) {
  ///   movies = difference.applied(to: movies) ?? []
  /// }
  /// ```
  ///
  /// The first difference may be empty; no other is.
  public func observeDifferences(
    _ query: Query, desiredKeys: [String]? = nil
  ) -> AsyncThrowingStream<Query.Difference, any Error> {
    let registration = Observer.Registration(ObservedQuery(query, desiredKeys: desiredKeys, in: self), of: self)
    let last = Locked<[Record]?>(nil)
    return AsyncThrowingStream {
      while let new = try await registration.next() {
        let old = last.withLock { last -> [Record]? in
          defer { last = new }
          return last
        }
        let difference = Query.Difference(from: old ?? [], to: new)
        if old == nil || !difference.isEmpty { return difference }
      }
      return nil
    }
  }

  /// How many records a query finds, at most its limit, now and whenever that changes.
  public func observeCount(_ query: Query) -> AsyncThrowingStream<Int, any Error> {
    stream(of: ObservedCount(query, in: self))
  }

  /// A record, now and after each commit that saves or deletes it; nil while there is none.
  public func observe(_ id: Record.ID) -> AsyncThrowingStream<Record?, any Error> { stream(of: ObservedRecord(id)) }

  private func stream<Subject: Observed>(of subject: Subject) -> AsyncThrowingStream<Subject.Value, any Error> {
    let registration = Observer.Registration(subject, of: self)
    // The closure keeps the registration; with the stream it ends.
    return AsyncThrowingStream { try await registration.next() }
  }
}
