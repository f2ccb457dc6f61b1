#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// One database of a container, or a Daybook database under CloudKit's names.
  ///
  /// Each request has three forms: an operation for ``add(_:)``, a call with a completion handler, and one that is awaited. They all
  /// do the same, off the caller's thread; handlers are called on any thread. Errors are ``CKError``s.
  ///
  /// A handler is called on one of the few threads on which requests are carried out. It may begin another request; if it waits
  /// for the answer, it keeps that thread, and when all of them wait so, none is left to answer.
  public final class CKDatabase: NSObject, Sendable {
    /// Which of a container's databases it is.
    public enum Scope: Int, Sendable {
      /// Shared by all users.
      case `public` = 1
      /// Of this user alone.
      case `private` = 2
      /// Zones of others that are shared with this user.
      case shared = 3
    }

    private enum Source {
      case container(ContainerOpening)
      case database(Database)
    }

    /// Which of a container's databases it is; a database that was opened by itself is private.
    public let databaseScope: Scope
    private let source: Source
    private let queue = OperationQueue()

    init(_ opening: ContainerOpening, _ scope: Scope) {
      source = .container(opening)
      databaseScope = scope
    }

    /// A Daybook database, which answers in its own dialect.
    public init(_ database: Database) {
      source = .database(database)
      databaseScope =
        switch database.scope {
        case .public: .public
        case .shared: .shared
        case .private, nil: .private
        }
    }

    /// The same under Daybook's names, opened if it is not open yet.
    /// - Throws: why it cannot be opened.
    public func daybookDatabase() throws(DatabaseError) -> Database {
      switch source {
      case .database(let database): database
      case .container(let opening):
        switch databaseScope {
        case .private: try opening.container().privateDatabase
        case .public: try opening.container().publicDatabase
        case .shared: try opening.container().sharedDatabase
        }
      }
    }

    /// The name of the user's record; nil for a database that was opened by itself.
    func userRecordName() throws(DatabaseError) -> String? {
      if case .container(let opening) = source { try opening.container().userRecordName } else { nil }
    }

    /// The identifier of the container; nil for a database that was opened by itself.
    var containerIdentifier: String? { if case .container(let opening) = source { opening.identifier } else { nil } }

    /// Runs an operation on this database.
    public func add(_ operation: CKDatabaseOperation) {
      operation.database = self
      queue.addOperation(operation)
    }

    /// Runs a request off the caller's thread.
    func run(_ body: @escaping @Sendable () -> Void) { queue.addOperation(body) }

    /// Runs a request off the caller's thread and waits for it without keeping a thread.
    func result<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
      try await Handover.result { handover in
        queue.addOperation {
          do { handover.resume(returning: try body()) } catch { handover.resume(throwing: CKError(any: error)) }
        }
      }
    }

    /// Runs a request off the caller's thread and hands its result on.
    func answer<R: Sendable>(
      _ handler: @escaping @Sendable (R?, (any Error)?) -> Void, _ body: @escaping @Sendable () throws -> R
    ) {
      queue.addOperation {
        let result: R
        do { result = try body() } catch { return handler(nil, CKError(any: error)) }
        handler(result, nil)
      }
    }

    /// The same for a handler that takes one or the other.
    func answer<R: Sendable>(
      with handler: @escaping @Sendable (Result<R, any Error>) -> Void, _ body: @escaping @Sendable () throws -> R
    ) {
      queue.addOperation {
        let result: Result<R, any Error>
        do { result = .success(try body()) } catch { result = .failure(CKError(any: error)) }
        handler(result)
      }
    }
  }
#endif
