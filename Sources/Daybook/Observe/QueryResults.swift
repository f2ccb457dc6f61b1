import DaybookEngine
import Observation

/// The result of a query for a user interface, which shows it and is told when it changes.
///
/// ```swift
/// struct MovieList: View {
///   @State var movies: QueryResults
///
///   var body: some View {
///     List(movies.records) { movie in Text(movie["title"] ?? "") }
///   }
/// }
///
/// MovieList(movies: QueryResults(Query("Movie", sort: [.ascending("title")]), in: database))
/// ```
///
/// It belongs to the main actor, is read on other threads, and ends with the last reference to it.
@MainActor @Observable
public final class QueryResults {
  /// What the query finds. Empty until it was read for the first time; when the query is replaced, what the one before found,
  /// until the new one was read.
  public private(set) var records: [Record] = []
  /// Whether nothing was read yet for this query.
  public private(set) var isLoading = true
  /// Why nothing comes any more; nil while all is well. Setting ``query`` tries again.
  public private(set) var error: (any Error)?
  /// What is looked for.
  public var query: Query { didSet { if query != oldValue || error != nil { start() } } }

  @ObservationIgnored private let database: Database
  @ObservationIgnored private let desiredKeys: [String]?
  @ObservationIgnored private let running = RunningTask()

  /// Begins to observe a query.
  /// - Parameters:
  ///   - query: what to look for.
  ///   - database: where; it stays open as long as this lives.
  ///   - desiredKeys: the only fields that the records have; nil for all.
  public init(_ query: Query, in database: Database, desiredKeys: [String]? = nil) {
    self.query = query
    self.database = database
    self.desiredKeys = desiredKeys
    start()
  }

  private func start() {
    isLoading = true
    error = nil
    let results = database.observe(query, desiredKeys: desiredKeys)
    running.replace(
      by: Task { [weak self] in
        do {
          for try await records in results {
            // Of a query that has been replaced nothing is shown.
            guard let self, !Task.isCancelled else { return }
            self.records = records
            self.isLoading = false
          }
          // The results of an open database never end.
          throw DatabaseError(.closed)
        } catch {
          guard let self, !Task.isCancelled else { return }
          self.error = error
          self.isLoading = false
        }
      })
  }
}
