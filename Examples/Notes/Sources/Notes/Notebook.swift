import Daybook
import Foundation

/// The notes of one device.
///
/// It is given its database, so that a test can give it one in memory, or on a disk that loses power.
public struct Notebook: Sendable {
  /// Where all notes are. A zone of one's own has a feed, and commits as a whole.
  static let zone: Zone.ID = {
    guard let zone = try? Zone.ID("Notes") else { preconditionFailure("a fixed name is valid") }
    return zone
  }()

  /// Where they are kept.
  public let database: Database

  /// The notes of a database; makes their zone when it is new.
  public init(_ database: Database) async throws {
    self.database = database
    if try await !database.zones().contains(where: { $0.id == Notebook.zone }) {
      try await database.save(Zone(Notebook.zone))
    }
  }

  /// The notes of a file, whose directory is made when it is missing.
  public static func open(at path: String) async throws -> Notebook {
    var options = Database.Options()
    options.createsDirectory = true
    return try await Notebook(Database.open(at: path, options: options))
  }

  static func recordID(_ id: String) throws -> Record.ID { try Record.ID(id, in: zone) }

  /// All notes, by title.
  public var notes: [Note] {
    get async throws {
      try await database.records(in: Notebook.zone, ofType: Note.type).compactMap(Note.init)
        .sorted { ($0.title, $0.id) < ($1.title, $1.id) }
    }
  }

  /// Saves a new note; returns it with its date.
  @discardableResult
  public func add(_ note: Note) async throws -> Note {
    var record = try Record(type: Note.type, id: Notebook.recordID(note.id))
    note.write(to: &record)
    return Note(try await database.save(record)) ?? note
  }

  /// Changes a note. Read, changed and saved in one transaction: however many do it at once, nobody's change is lost.
  @discardableResult
  public func edit(_ id: String, _ change: @escaping @Sendable (inout Note) -> Void) async throws -> Note? {
    let saved = try await database.update(Notebook.recordID(id)) { record in
      guard var note = Note(record) else { return }
      change(&note)
      note.write(to: &record)
    }
    return Note(saved)
  }

  /// Deletes a note.
  public func remove(_ id: String) async throws { try await database.delete(Notebook.recordID(id)) }

  /// The notes now, and again after each commit that changed some: what a list shows.
  public func updates() -> AsyncThrowingStream<[Note], any Error> {
    // Asked for before the first list, so that no commit is missed between the two.
    let commits = database.commits()
    return AsyncThrowingStream { continuation in
      let task = Task {
        do {
          continuation.yield(try await notes)
          // Commits that were missed may have changed anything.
          for await notice in commits where notice.commit == nil || notice.zones.contains(Notebook.zone) {
            continuation.yield(try await notes)
          }
          continuation.finish()
        } catch { continuation.finish(throwing: error) }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
