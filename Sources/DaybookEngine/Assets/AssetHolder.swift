/// A process that holds names in the asset directory, as other processes see it: a locked file.
///
///     ingest-<holder>-<number>             a content on its way in, or a second name of one
///     staged/<SHA-256>-<holder>-<number>   a copy that was handed out
///     holder-<holder>                      locked as long as its process lives: a process that gets the lock may remove the names
///
/// The lock belongs to the open file, so several databases of one process are several holders, and a child after `fork` counts
/// as its parent: it keeps the description, so what was held lives until both have ended. The file exists while anything is held.
///
/// A holder is dead when its lock can be taken and the file says nothing; numbers of processes do not count, because another
/// container, or another machine, has other numbers. Only where the system ends suspended processes that hold locks (Apple's) does a
/// suspended database give up the lock; the file then names process and system, and those who are in that system ask it. Where
/// that cannot be known, a note of another system or a volume without locks, the holder lives until the grace time is over.
///
/// Always true: a holder's file is removed only under its lock, where there are locks, and a lock counts only when the file still
/// has the name.
package final class AssetHolder: Sendable {
  package static let prefix = "holder-"
  static let digitCount = 16
  private static let noteByteCount = 128

  /// What is known of a holder.
  enum Life { case living, dead, unknown }

  let id: String
  /// The directory that its file is in.
  let folder: any DiskFolder
  private let file: any DiskFile

  private init(_ id: String, _ folder: any DiskFolder, _ file: any DiskFile) {
    self.id = id
    self.folder = folder
    self.file = file
  }

  private var name: String { AssetHolder.prefix + id }

  /// Makes a new holder.
  static func make(
    in folder: any DiskFolder, like attributes: FileAttributes?, mayLock: Bool, random: () -> UInt64
  ) throws(DiskFailure) -> AssetHolder {
    // One attempt is enough, unless the caller's random numbers repeat.
    var attempts = 100
    while true {
      attempts -= 1
      let id = hexDigits(random())
      let file: any DiskFile
      do { file = try folder.create(prefix + id, byteCount: 64, like: attributes) } catch {
        if error.kind == .exists, attempts > 0 { continue }
        throw error
      }
      let holder = AssetHolder(id, folder, file)
      do throws(DiskFailure) {
        guard mayLock else {
          try holder.noteProcess()
          return holder
        }
        // In between, a collection may have locked it to test it, or removed it as a leftover.
        if try holder.lock() { return holder }
      } catch {
        holder.remove()
        throw error
      }
      holder.remove()
      if attempts == 0 { throw DiskFailure(.lock, path: file.path, kind: .other, code: ErrorNumber.again) }
    }
  }

  private func lock() throws(DiskFailure) -> Bool {
    guard try file.tryLock(.writer, .exclusive) else { return false }
    return try folder.identity(of: name) == file.identity
  }

  private func noteProcess() throws(DiskFailure) {
    let text = ByteBuffer(capacity: AssetHolder.noteByteCount)
    text.append(utf8: SuspendedProcess.note)
    try file.write(text.view, at: 0)
  }

  /// Releases the lock where the system kills a suspended process that has one; the file says that the process lives. If there is
  /// no room for that, a collection may take the names after the grace time.
  func suspend() {
    if SuspendedProcess.mayKeepLocks { return }
    try? noteProcess()
    file.unlock(.writer)
  }

  /// Takes the lock again. If a collection has it at this moment to test it, the number of the process stays in the file and
  /// serves instead.
  func resume() {
    if (try? file.tryLock(.writer, .exclusive)) == true { try? file.truncate(to: 0) }
  }

  /// Ends the holder: names that are still there become leftovers.
  func remove() {
    folder.remove(name, ifStill: file)
    file.close()
  }

  // MARK: others

  /// Whether a living process holds the names with this number; nil when the holder's name is not a file. What fails now, and may
  /// work next time, says that it lives.
  static func life(of id: String, in folder: any DiskFolder) -> Life? {
    do throws(DiskFailure) {
      let file = try folder.open(prefix + id, .readContent)
      defer { file.close() }
      return try life(file, .shared)
    } catch {
      // One of root's is ours as soon as it has a lock.
      if error.kind == .permission, folder.isEmptyFileOfRoot(prefix + id) { return .dead }
      return error.kind == .notRegular ? nil : error.kind == .notFound ? .dead : .living
    }
  }

  /// Takes the lock if it is free.
  private static func life(_ file: any DiskFile, _ strength: LockStrength) throws(DiskFailure) -> Life {
    do { guard try file.tryLock(.writer, strength) else { return .living } } catch {
      guard ErrorNumber.meansNoLocks(error.code) else { throw error }
      return .unknown
    }
    let text = ByteBuffer(capacity: noteByteCount)
    // Safe: the buffer was made for this many bytes.
    text.count = try unsafe file.read(into: text.base, count: noteByteCount, at: 0)
    if text.count == 0 { return .dead }
    switch SuspendedProcess.isAlive(String(decoding: text.view.array, as: UTF8.self)) {
    case true?: return .living
    case false?: return .dead
    case nil: return .unknown
    }
  }

  /// Removes the file of a dead holder.
  /// - Parameter isOverdue: also of one of which nothing can be known.
  static func removeDead(
    _ id: String, in folder: any DiskFolder, ownedBy owners: FileOwners, isOverdue: Bool
  ) throws(DiskFailure) {
    let name = prefix + id
    do {
      let file = try folder.open(name, .readWrite)
      defer { file.close() }
      let life = try life(file, .exclusive)
      guard life == .dead || life == .unknown && isOverdue, try folder.identity(of: name) == file.identity else { return }
      try folder.remove(name, ownedBy: owners)
    } catch {
      if error.kind == .permission, folder.isEmptyFileOfRoot(name) { return try folder.remove(name) }
      // Another process was faster, or the file belongs to another user.
      guard [.notFound, .permission, .foreign, .notRegular].contains(error.kind) else { throw error }
    }
  }

  // MARK: names

  /// The holder in a name of the directory or of the staging folder; nil for names without one.
  static func holder(ofTemporary name: String) -> String? {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, isNumber(parts[1]), isNumber(parts[2]) else { return nil }
    return String(parts[1])
  }

  /// The number of the holder whose file has this name.
  static func id(ofFile name: String) -> String? {
    guard name.hasPrefix(prefix) else { return nil }
    let id = name.dropFirst(prefix.count)
    return isNumber(id) ? String(id) : nil
  }

  static func isNumber(_ text: Substring) -> Bool {
    text.utf8.count == digitCount && text.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
  }
}
