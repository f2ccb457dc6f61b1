/// Letting contents go: what lies in the directory, since when nothing has referred to it, and its removal.
///
/// Who decides is the record layer's collector (`AssetCollector`). The grace time counts from the moment a collection first
/// saw a name that nothing refers to. That moment is noted in a small text file, a line for each name, so that it also
/// counts over opens of programs that live for a second. The note is a courtesy: if it is lost, the grace begins anew.
extension AssetStore {
  /// What lies in the directory.
  package struct Inventory: Sendable {
    package var digests: [AssetDigest] = []
    /// Paths, relative to the directory, of temporary names and staged copies that nobody holds, here or in another process.
    package var leftovers: [String] = []
    /// Holders of names that live no more.
    package var deadHolders: [String] = []
    /// Names that this library never gives.
    package var strangers: [String] = []
    package init() {}
  }

  /// Everything that lies in the directory; nothing when there is none.
  package func inventory() throws(DiskFailure) -> Inventory {
    var result = Inventory()
    var holders = HolderLook(self)
    for entry in try entriesIfAny(directory) {
      if entry.isDirectory {
        try takeFolder(entry.name, &holders, into: &result)
      } else if entry.name.hasPrefix(AssetStore.temporaryPrefix) {
        if !holders.isHeld(entry.name) { result.leftovers.append(entry.name) }
      } else if entry.name.hasPrefix(AssetHolder.prefix), let id = AssetHolder.id(ofFile: entry.name) {
        switch holders.isAlive(id) {
        case true: break
        case false: result.deadHolders.append(id)
        case nil: result.strangers.append(entry.name)
        }
      } else if entry.name != AssetStore.noteName && entry.name != AssetStore.noteName + ".new" {
        result.strangers.append(entry.name)
      }
    }
    return result
  }

  /// Who lives, asked once for each.
  private struct HolderLook {
    private let store: AssetStore
    private var known: [String: Bool?] = [:]

    init(_ store: AssetStore) {
      self.store = store
      if let own = store.state.withLock({ $0.holder }) { known[own.id] = true }
    }

    mutating func isAlive(_ id: String) -> Bool? {
      if let answer = known[id] { return answer }
      let answer = AssetHolder.isAlive(id, in: store.directory, on: store.disk)
      known[id] = answer
      return answer
    }

    mutating func isHeld(_ name: String) -> Bool {
      guard let id = AssetHolder.holder(ofTemporary: name) else { return false }
      return isAlive(id) ?? false
    }
  }

  private func takeFolder(
    _ name: String, _ holders: inout HolderLook, into result: inout Inventory
  ) throws(DiskFailure) {
    for entry in try entriesIfAny("\(directory)/\(name)", behindNoLink: true) {
      if name == AssetStore.stagingName {
        if !holders.isHeld(entry.name) { result.leftovers.append("\(name)/\(entry.name)") }
      } else if !entry.isDirectory, let digest = AssetDigest(name: entry.name), digest.folder == name {
        result.digests.append(digest)
      } else {
        result.strangers.append("\(name)/\(entry.name)")
      }
    }
  }

  private func entriesIfAny(_ path: String, behindNoLink: Bool = false) throws(DiskFailure) -> [DirectoryEntry] {
    do { return try behindNoLink ? disk.entriesBehindNoLink(of: path) : disk.entries(of: path) } catch {
      // What took a folder's place since it was listed is none of ours.
      if error.kind == .notFound || behindNoLink && error.kind == .notRegular { return [] }
      throw error
    }
  }

  /// The size of a file in the directory; nil when it is gone.
  package func byteCount(of name: String) -> Int? {
    guard let file = try? disk.open("\(directory)/\(name)", .readContent) else { return nil }
    defer { file.close() }
    return try? file.byteCount()
  }

  package func byteCount(of digest: AssetDigest) -> Int? { byteCount(of: "\(digest.folder)/\(digest.name)") }

  // MARK: a collection

  /// From here on the store remembers what transactions refer to. Called with the turn, so that none is half way.
  /// - Returns: false when another collection is at work.
  package func beginCollection() -> Bool {
    state.withLock { state in
      guard state.rescued == nil else { return false }
      state.rescued = []
      return true
    }
  }

  package func endCollection() { state.withLock { $0.rescued = nil } }

  /// Unlinks a content, unless a transaction has referred to it since the collection began. Called with the turn: no
  /// transaction can refer to it between the look and the removal.
  /// - Returns: whether it was removed.
  package func removeUnlessRescued(_ digest: AssetDigest) throws(DiskFailure) -> Bool {
    if state.withLock({ $0.rescued?.contains(digest) ?? true }) { return false }
    do { try disk.remove(path(of: digest)) } catch {
      if error.kind == .notFound { return false }
      throw error
    }
    return true
  }

  /// Removes a leftover: nobody can hold it again, because a holder's number is drawn anew each time.
  package func removeLeftover(_ name: String) throws(DiskFailure) -> Bool {
    do { try disk.remove("\(directory)/\(name)") } catch {
      if error.kind == .notFound { return false }
      throw error
    }
    return true
  }

  package func removeDeadHolder(_ id: String) throws(DiskFailure) {
    try AssetHolder.removeDead(id, in: directory, on: disk)
  }

  // MARK: the note

  /// When names were first seen without a reference: seconds, as the database's clock counts them.
  package func readNote() -> [String: Double] {
    guard let file = try? disk.open("\(directory)/\(AssetStore.noteName)", .readContent) else { return [:] }
    defer { file.close() }
    // A forged note costs no more memory than this; without one the grace begins anew.
    guard let byteCount = try? file.byteCount(), byteCount < 1 << 28 else { return [:] }
    let buffer = ByteBuffer(capacity: max(1, byteCount))
    // Safe: the buffer was made for this many bytes.
    guard let count = try? unsafe file.read(into: buffer.base, count: byteCount, at: 0) else { return [:] }
    buffer.count = count
    var note: [String: Double] = [:]
    for line in String(decoding: buffer.view.array, as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: " ")
      if parts.count == 2, let seconds = Double(parts[1]), seconds.isFinite { note[String(parts[0])] = seconds }
    }
    return note
  }

  /// Writes the note. Not synced: it may be lost.
  package func writeNote(_ note: [String: Double]) throws(DiskFailure) {
    let path = "\(directory)/\(AssetStore.noteName)"
    if note.isEmpty {
      if try disk.exists(path) { try disk.remove(path) }
      return
    }
    let buffer = ByteBuffer(capacity: 4096)
    for (name, seconds) in note.sorted(by: { $0.key < $1.key }) { buffer.append(utf8: "\(name) \(seconds)\n") }
    let temporary = path + ".new"
    if try disk.exists(temporary) { try disk.remove(temporary) }
    let file = try disk.createPrivate(temporary, byteCount: buffer.count)
    defer { file.close() }
    if let attributes = try attributes() { try file.setAttributes(attributes.ofNote) }
    try file.write(buffer.view, at: 0)
    try disk.rename(temporary, to: path)
  }
}
