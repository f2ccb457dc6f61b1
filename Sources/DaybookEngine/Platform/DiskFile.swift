/// One open description of a file. Write-back errors are reported once per description, so the commit path has its own.
///
/// Threads: all calls may come from any thread at any time.
package protocol DiskFile: AnyObject, Sendable {
  var path: String { get }
  var identity: FileIdentity { get }
  func byteCount() throws(DiskFailure) -> Int
  /// Writes all the bytes or throws; short writes and interruptions are dealt with inside.
  func write(_ bytes: ByteView, at offset: Int) throws(DiskFailure)
  /// Reads up to `count` bytes into `target`; fewer only at the end of the file.
  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(DiskFailure) -> Int
  /// The first byte from `offset` on that the file has a block for, as far as its file system tells: what lies before it is a
  /// hole, and reads as zeros. `Int.max` when nothing but a hole follows; `offset` where nobody tells.
  func contentStart(from offset: Int) -> Int
  func sync(_ level: SyncLevel) throws(DiskFailure)
  /// Lets the disk begin with what was written there, where the system can be asked to. It promises nothing: a sync of this
  /// description makes it durable, and reports what failed.
  func beginWriteBack(_ range: Range<Int>)
  func truncate(to byteCount: Int) throws(DiskFailure)
  /// Copies bytes of another file to the same offset of this one without moving them through the process; where the file
  /// system can, the two share the blocks. Returns how many; nil when the two files are not of a kind that can do it.
  func copyRange(of source: any DiskFile, at offset: Int, count: Int) throws(DiskFailure) -> Int?
  /// Takes everybody's right to change the file. Descriptions that are open keep theirs.
  func makeReadOnly() throws(DiskFailure)
  /// How many names lead to the file.
  func linkCount() throws(DiskFailure) -> Int
  func attributes() throws(DiskFailure) -> FileAttributes
  /// Gives the file its attributes, or less than that where the system refuses a part.
  func setAttributes(_ attributes: FileAttributes) throws(DiskFailure)

  /// Where byte 0 of the file is in memory once `map` has been called. It never moves while the file is open.
  var base: UnsafeRawPointer { get }
  /// Makes `base ..< base + end` readable. `end` must not lie beyond the end of the file.
  func map(upTo end: Int) throws(DiskFailure)
  /// How far this description can ever map the file; 0 where it cannot. Beyond, `map` throws. What is kept for each page of a
  /// file takes room for so much of it.
  var mappableByteCount: Int { get }

  /// Takes a lock without waiting; false when somebody else holds it. Locks belong to this description.
  func tryLock(_ byte: LockByte, _ strength: LockStrength) throws(DiskFailure) -> Bool
  /// Whether another description holds a lock on a byte. Takes none.
  func isLockedByOthers(_ byte: LockByte) throws(DiskFailure) -> Bool
  func unlock(_ byte: LockByte)
  /// Gives back descriptor, mapping and locks. Further calls throw; closing twice is allowed.
  func close()
  /// Closes a file whose name is gone or another's by now. Where nobody else has it open, what it held goes back to the disk
  /// piece by piece, so that syncs of other files need not wait for all of it.
  /// - Parameter goesOn: asked before each piece; after false the rest goes at once.
  func closeRemoved(_ goesOn: () -> Bool)
}

extension DiskFile {
  package var mappableByteCount: Int { 1 << 40 }
  package func contentStart(from offset: Int) -> Int { offset }
  package func beginWriteBack(_ range: Range<Int>) {}
  package func closeRemoved(_ goesOn: () -> Bool) { close() }
}
