import Daybook
import Foundation

/// A note as the application's views know it.
public struct Note: Identifiable, Hashable, Sendable {
  /// How much a note matters; an enum with raw values is a value of a record by saying so.
  public enum Priority: Int, RecordValueConvertible, Sendable { case low, normal, high }

  /// Its name in the database, the same on every device.
  public let id: String
  /// What the list shows.
  public var title: String
  /// What was written.
  public var text = ""
  /// Words to find it by.
  public var tags: Set<String> = []
  /// How much it matters.
  public var priority = Priority.normal
  /// A page in the web.
  public var link: URL?
  /// When the version that this one was read from was saved; nil for a new note.
  public private(set) var modified: Date?

  /// A new note.
  public init(id: String = UUID().uuidString, title: String, text: String = "") {
    self.id = id
    self.title = title
    self.text = text
  }
}

extension Note {
  static let type = "Note"

  /// A note of a record; nil when it has none of what makes a note.
  init?(_ record: Record) {
    guard record.type == Note.type, let title = record[.title] else { return nil }
    self.init(id: record.id.name, title: title, text: record[.text] ?? "")
    tags = record[.tags] ?? []
    priority = record[.priority] ?? .normal
    link = record[.link]
    modified = record.modificationDate
  }

  /// Writes what differs: what stays the same is no change of the record, and so in nobody's way.
  func write(to record: inout Record) {
    if record[.title] != title { record[.title] = title }
    if record[.text] != text { record[.text] = text }
    if record[.tags] ?? [] != tags { record[.tags] = tags }
    if record[.priority] ?? .normal != priority { record[.priority] = priority }
    if record[.link] != link { record[.link] = link }
  }
}

// A key with a type: a misspelled one does not compile.
extension Record.Key where T == String {
  static var title: Self { .init("title") }
  static var text: Self { .init("text") }
}
extension Record.Key where T == Set<String> { static var tags: Self { .init("tags") } }
extension Record.Key where T == Note.Priority { static var priority: Self { .init("priority") } }
extension Record.Key where T == URL { static var link: Self { .init("link") } }
