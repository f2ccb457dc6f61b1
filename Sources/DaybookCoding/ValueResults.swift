import Daybook
import Observation

/// The values of a type that a query finds, for a user interface, which shows them and is told when they change.
///
/// ```swift
/// struct MovieList: View {
///   @State var movies: ValueResults<Movie>
///
///   var body: some View {
///     List(movies.values) { movie in Text(movie.title) }
///   }
/// }
///
/// MovieList(movies: database.valueResults(Movie.self, sort: [.ascending("title")], in: library))
/// ```
///
/// It belongs to the main actor, is read and decoded on other threads, and ends with the last reference to it.
@MainActor @Observable
public final class ValueResults<Value: RecordDecodable & Sendable> {
  /// What the query finds. Empty until it was read for the first time; when the query is replaced, what the one before found,
  /// until the new one was read.
  public private(set) var values: [Value] = []
  /// Whether nothing was read yet for this query.
  public private(set) var isLoading = true
  /// Why ``values`` are not those of now; nil while all is well. That a record is no value of the type is over with the commit that
  /// mends it; after another error nothing comes any more, and setting ``query`` tries again.
  public private(set) var error: (any Error)?
  /// What is looked for: records of the type, in one zone or in all.
  public var query: Query { didSet { if query != oldValue || error != nil { start() } } }

  @ObservationIgnored private let database: Database
  @ObservationIgnored private let decoder: RecordDecoder
  @ObservationIgnored private let running = RunningTask()

  /// Begins to observe the values of a type.
  /// - Parameters:
  ///   - predicate: which of them; all when left out.
  ///   - sort: the order; empty for that of the last saves.
  ///   - zone: the zone to look in; nil for all.
  ///   - limit: how many at most; nil for all.
  ///   - database: where; it stays open as long as this lives.
  public init(
    _ type: Value.Type, where predicate: Query.Predicate = .true, sort: [Query.Sort] = [],
    zone: Zone.ID? = .default,
    limit: Int? = nil, in database: Database, options: RecordCodingOptions = .init()
  ) {
    query = Query(Value.recordType, where: predicate, sort: sort, in: zone, limit: limit)
    self.database = database
    decoder = RecordDecoder(options: options)
    start()
  }

  /// Begins to observe the values of a type that a predicate on its properties accepts.
  /// - Throws: `invalidArguments` for a predicate that has no counterpart, see ``Daybook/Query/Predicate/init(_:options:)``.
  @_disfavoredOverload
  public convenience init(
    _ type: Value.Type, where predicate: FoundationPredicate<Value>, sort: [Query.Sort] = [],
    zone: Zone.ID? = .default,
    limit: Int? = nil, in database: Database, options: RecordCodingOptions = .init()
  ) throws(DatabaseError) {
    self.init(
      type, where: try Query.Predicate(predicate, options: options), sort: sort, zone: zone,
      limit: limit, in: database,
      options: options)
  }

  private func start() {
    isLoading = true
    error = nil
    let results = database.observe(query)
    let decoder = decoder
    running.replace(
      by: Task { [weak self] in
        do {
          for try await records in results {
            let found = await Self.values(of: records, decoder)
            // Of a query that has been replaced nothing is shown.
            guard let self, !Task.isCancelled else { return }
            switch found {
            case .success(let values):
              self.values = values
              self.error = nil
            // The next commit may mend it.
            case .failure(let error): self.error = error
            }
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

  @concurrent
  private nonisolated static func values(of records: [Record], _ decoder: RecordDecoder)
    async -> Result<[Value], any Error>
  {
    Result { try decoder.values(Value.self, of: records) }
  }
}

extension Database {
  /// The values of a type as a list for a user interface, which follows this database; see ``ValueResults``.
  /// - Parameters:
  ///   - predicate: which of them; all when left out.
  ///   - sort: the order; empty for that of the last saves.
  ///   - zone: the zone to look in; nil for all.
  ///   - limit: how many at most; nil for all.
  @MainActor
  public func valueResults<Value: RecordDecodable & Sendable>(
    _ type: Value.Type, where predicate: Query.Predicate = .true, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) -> ValueResults<Value> {
    ValueResults(type, where: predicate, sort: sort, zone: zone, limit: limit, in: self, options: options)
  }

  /// The values of a type that a predicate on its properties accepts, as a list for a user interface.
  /// - Throws: `invalidArguments` for a predicate that has no counterpart.
  @MainActor @_disfavoredOverload
  public func valueResults<Value: RecordDecodable & Sendable>(
    _ type: Value.Type, where predicate: FoundationPredicate<Value>, sort: [Query.Sort] = [], in zone: Zone.ID? = .default,
    limit: Int? = nil, options: RecordCodingOptions = .init()
  ) throws(DatabaseError) -> ValueResults<Value> {
    try ValueResults(type, where: predicate, sort: sort, zone: zone, limit: limit, in: self, options: options)
  }
}
