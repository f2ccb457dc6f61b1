/// A process that holds names in the asset directory, as other processes see it: a file with a lock on it.
///
///     ingest-<holder>-<number>             a content on its way in, or a second name of one
///     staged/<SHA-256>-<holder>-<number>   a copy that was handed out
///     holder-<holder>                      locked as long as its process lives: who finds the lock free may take the names away
///
/// The lock belongs to the open file, so several databases of one process are several holders, and a child after `fork`
/// counts for its parent. The file is there while anything is held. While the database is suspended nothing may be locked,
/// so the number of the process stands in the file instead: a process that was killed while suspended has none any more.
///
/// Always true: a holder's file is removed only under its lock, and a lock counts only when the file still has the name.
final class AssetHolder: Sendable {
  static let prefix = "holder-"
  static let digitCount = 16

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

  /// A number as names have it.
  static func digits(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: digitCount - digits.count) + digits
  }

  /// A holder that nobody else is.
  static func make(
    in folder: any DiskFolder, like attributes: FileAttributes?, mayLock: Bool, random: () -> UInt64
  ) throws(DiskFailure) -> AssetHolder {
    // Once is enough, unless the random numbers are somebody's who gives the same ones twice.
    var attempts = 100
    while true {
      attempts -= 1
      let id = digits(random())
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
        // Whoever looked in between may have locked it, or taken it for a leftover.
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
    let text = ByteBuffer(capacity: 32)
    text.append(utf8: "\(processID())\n")
    try file.write(text.view, at: 0)
  }

  /// Gives the lock back; the file says that the process lives. Where there is no room for that, a collection may take the
  /// names after the grace time: a lock that is kept would cost the process its life.
  func suspend() {
    try? noteProcess()
    file.unlock(.writer)
  }

  /// Takes the lock again. Where somebody who looks has it at this moment, the number of the process stays and serves.
  func resume() {
    if (try? file.tryLock(.writer, .exclusive)) == true { try? file.truncate(to: 0) }
  }

  /// Ends it: what still has its name is a leftover.
  func remove() {
    try? folder.remove(name)
    file.close()
  }

  /// Leaves everything as it is: a child after `fork` has no say.
  func closeAfterFork() { file.close() }

  // MARK: others

  /// Whether somebody holds the names with this number; nil when something else than a file has the holder's name. What
  /// cannot be asked is taken for living.
  static func isAlive(_ id: String, in folder: any DiskFolder) -> Bool? {
    do throws(DiskFailure) {
      let file = try folder.open(prefix + id, .readContent)
      defer { file.close() }
      guard try file.tryLock(.writer, .shared) else { return true }
      return try suspendedProcess(file).map { isProcessAlive($0) } ?? false
    } catch {
      return error.kind == .notRegular ? nil : error.kind != .notFound
    }
  }

  private static func suspendedProcess(_ file: any DiskFile) throws(DiskFailure) -> Int32? {
    let text = ByteBuffer(capacity: 32)
    // Safe: the buffer was made for this many bytes.
    text.count = try unsafe file.read(into: text.base, count: 32, at: 0)
    return String(decoding: text.view.array, as: UTF8.self).split(separator: "\n").first.flatMap { Int32($0) }
  }

  /// Removes the file of a holder that is no more.
  static func removeDead(
    _ id: String, in folder: any DiskFolder, ownedBy owners: FileOwners
  ) throws(DiskFailure) {
    let name = prefix + id
    do {
      let file = try folder.open(name, .readWrite)
      defer { file.close() }
      guard try file.tryLock(.writer, .exclusive), try folder.identity(of: name) == file.identity,
        try suspendedProcess(file).map({ isProcessAlive($0) }) != true
      else { return }
      try folder.remove(name, ownedBy: owners)
    } catch {
      // Somebody was faster, or it belongs to somebody else.
      guard [.notFound, .permission, .foreign, .notRegular].contains(error.kind) else { throw error }
    }
  }

  // MARK: names

  /// The holder of a name in the directory, or of one in the staging folder; nil for names that say none.
  static func holder(ofTemporary name: String) -> String? {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, isNumber(parts[1]), isNumber(parts[2]) else { return nil }
    return String(parts[1])
  }

  /// The number of the holder whose file has this name.
  static func id(ofFile name: String) -> String? {
    let id = name.dropFirst(prefix.count)
    return isNumber(id) ? String(id) : nil
  }

  static func isNumber(_ text: Substring) -> Bool {
    text.utf8.count == digitCount && text.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
  }
}
