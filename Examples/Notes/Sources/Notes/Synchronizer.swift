import Daybook
import Foundation

/// Brings a device and a server together: first sends what the device has changed, then fetches what others have.
///
/// Beside each record the device keeps what it knows of the server, in the same commit as the record itself:
///
///     metadata "server NAME"    the identity of the server's version: what the next change is based on
///     metadata "known NAME"     the tag of the device's version that has been sent or fetched: it need not be sent
///     metadata "sent"           where in its own feed the device is
///     metadata "fetched"        where in the server's
///
/// Both sides may be cut off at any moment: what was not acknowledged is sent or fetched again.
public actor Synchronizer {
  private let device: Database
  private let server: Database
  private static let origin: Origin = "sync"

  /// The server is a database like any other here; in an application it is reached through a network.
  public init(_ notebook: Notebook, with server: Notebook) {
    device = notebook.database
    self.server = server.database
  }

  /// Sends, then fetches. Returns how many records went each way.
  @discardableResult
  public func sync() async throws -> (sent: Int, fetched: Int) { (try await send(), try await fetch()) }

  // MARK: sending

  private func send() async throws -> Int {
    var count = 0
    let start = try await token("sent", of: device)
    for try await page in device.changePages(in: Notebook.zone, since: start) {
      for record in page.saved {
        if try await text("known \(record.id.name)") == record.changeTag { continue }
        try await send(record)
        count += 1
      }
      for deletion in page.deleted where try await device.metadata(forKey: "server \(deletion.id.name)") != nil {
        try await sendDeletion(of: deletion.id)
        count += 1
      }
      let token = page.token.data
      try await device.write(origin: Self.origin) { try $0.setMetadata(token, forKey: "sent") }
    }
    return count
  }

  private func send(_ record: Record) async throws {
    var outgoing = try Record(type: record.type, id: record.id)
    var base: Record?
    if let fields = try await device.metadata(forKey: "server \(record.id.name)") {
      outgoing = try Record(systemFields: fields)
      base = try await server.record(record.id, withChangeTag: outgoing.changeTag ?? "")
    }
    // Only what differs from what both sides began with: a change of another key is in nobody's way.
    for key in Set(record.keys + (base?.keys ?? [])) {
      let value = record[key] as Record.Value?
      if base?[key] != value { outgoing[key] = value }
    }
    let stored: Record
    do {
      stored = try await server.save(outgoing)
    } catch let error as DatabaseError where error.code == .serverRecordChanged {
      guard let current = error.conflict?.server else { throw error }
      outgoing.rebase(onto: current)
      stored = try await server.save(outgoing)
    } catch let error as DatabaseError where error.code == .unknownItem {
      // Deleted there, changed here: what somebody has written is not lost.
      stored = try await server.save(record, policy: .replace)
    }
    try await device.write(origin: Self.origin) { [stored] transaction in
      // Changed here meanwhile: it is sent again, based on what it was based on now.
      guard try transaction.record(record.id)?.changeTag == record.changeTag else { return }
      try Self.save(stored, transaction)
    }
  }

  private func sendDeletion(of id: Record.ID) async throws {
    let known = try await device.metadata(forKey: "server \(id.name)").map { try Record(systemFields: $0) }
    try await server.write(origin: Self.origin) { transaction in
      // Changed there since: it comes back with the next fetch.
      if let known, try transaction.record(id)?.changeTag == known.changeTag { try transaction.delete(id) }
    }
    try await device.write(origin: Self.origin) { try Self.forget(id, $0) }
  }

  // MARK: fetching

  private func fetch() async throws -> Int {
    var count = 0
    for try await page in server.changePages(in: Notebook.zone, since: try await token("fetched", of: device)) {
      // The page and its token in one transaction: after a crash both are there, or neither is.
      count += try await device.write(origin: Self.origin) { transaction in
        var count = 0
        for record in page.saved where try Self.take(record, transaction) { count += 1 }
        for deletion in page.deleted where try Self.takeDeletion(of: deletion.id, transaction) { count += 1 }
        try transaction.setMetadata(page.token.data, forKey: "fetched")
        return count
      }
    }
    return count
  }

  /// Makes the device's record what the server's is, unless it was changed since it was sent: the next sync sends it.
  private static func take(_ record: Record, _ transaction: borrowing Transaction) throws -> Bool {
    let name = record.id.name
    if let fields = try transaction.metadata(forKey: "server \(name)"),
      try Record(systemFields: fields).changeTag == record.changeTag
    {
      return false
    }
    if let own = try transaction.record(record.id), try !isKnown(own, transaction) { return false }
    try save(record, transaction)
    return true
  }

  /// Makes the device's record what the server's is, and remembers what it is based on.
  private static func save(_ record: Record, _ transaction: borrowing Transaction) throws {
    let saved = try transaction.save(record, policy: .replace)
    try transaction.setMetadata(record.systemFields, forKey: "server \(record.id.name)")
    try transaction.setMetadata(Data((saved.changeTag ?? "").utf8), forKey: "known \(record.id.name)")
  }

  private static func takeDeletion(of id: Record.ID, _ transaction: borrowing Transaction) throws -> Bool {
    guard let own = try transaction.record(id), try isKnown(own, transaction) else { return false }
    try transaction.delete(id)
    try forget(id, transaction)
    return true
  }

  private static func isKnown(_ own: Record, _ transaction: borrowing Transaction) throws -> Bool {
    try transaction.metadata(forKey: "known \(own.id.name)") == own.changeTag.map { Data($0.utf8) }
  }

  private static func forget(_ id: Record.ID, _ transaction: borrowing Transaction) throws {
    try transaction.setMetadata(nil, forKey: "server \(id.name)")
    try transaction.setMetadata(nil, forKey: "known \(id.name)")
  }

  private func token(_ key: String, of database: Database) async throws -> ChangeToken? {
    try await database.metadata(forKey: key).map { try ChangeToken(data: $0) }
  }

  private func text(_ key: String) async throws -> String? {
    try await device.metadata(forKey: key).map { String(decoding: $0, as: UTF8.self) }
  }
}
