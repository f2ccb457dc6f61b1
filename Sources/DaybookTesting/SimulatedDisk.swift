import DaybookEngine

/// A disk in memory that forgets what was not synced, and fails when it is told to: for tests of code that keeps its data
/// in a database.
///
///     let disk = SimulatedDisk()
///     let book = try Database.open(at: "/notes.daybook", on: disk)
///     try book.write { transaction in try transaction.save(Record(type: "Note", id: Record.ID("first"))) }
///
///     let after = disk.afterPowerLoss(seed: 1)
///     let again = try Database.open(at: "/notes.daybook", on: after)
///     … what was acknowledged is there …
///
/// Programs see what they wrote; what a power loss would leave is kept beside it, file sizes and directory entries apart from
/// the bytes. A disk begins empty. It has no links and no working directory, each path is the whole name of a file, and
/// directories need not be made. Files of assets lie on it, too.
///
/// Always true: the same seed, the same calls and the same faults give the same disk on every machine. All members may be used
/// from any thread; of several threads the system decides which call is which number.
public final class SimulatedDisk: Disk, Sendable {
  package let seed: UInt64
  package let sectorByteCount: Int
  package let maximumFileByteCount: Int
  let device = MemoryDisk.newDevice()

  struct State {
    var names: [String: SimulatedContent] = [:]
    var durableNames: [String: SimulatedContent] = [:]
    /// Directories that programs made. All others are there without being made, and are no matter here.
    var directories: Set<String> = []
    var durableDirectories: Set<String> = []
    /// Of directories that were given any; as if they arrived with the names.
    var directoryAttributes: [String: FileAttributes] = [:]
    /// Numbers of directories that were asked for theirs: one that is made again is another one.
    var directoryInodes: [String: UInt64] = [:]
    var directoryInodeCount: UInt64 = 0
    /// Changes of names that no directory sync has covered, in the order they were made.
    var pendingChanges: [NameChange] = []
    var inodeCount: UInt64 = 0
    var descriptionCount = 0
    var generator: SeededGenerator
    var capacityByteCount: Int?
    /// Whether bytes that overwrite others need room, too.
    var copiesOnWrite = false
    /// What lies in blocks that no write has reached: those of a file that was there before.
    var recycledBlocks: [UInt8] = []
    var lies: [ArmedLie] = []
    /// Whether writes and reads arrive in pieces, with interruptions between.
    var cutsTransfers = false
    var ignoresSyncs = false
    var latency: [DiskFailure.Operation: UInt64] = [:]
    var callCount = 0
    var readCount = 0
    var writeCount = 0
    var syncCount = 0
    /// Numbers that make databases on this disk different from each other.
    var identities: SeededGenerator
    var stop: (call: Int, tearsWrite: Bool)?
    var isStopped = false
    var faults: [ArmedFault] = []
    var trace: [SimulatedCall]?
    var observer: (@Sendable (SimulatedCall) throws(DiskFailure) -> Void)?
  }

  let state: Locked<State>

  /// A disk without any file, without faults and without a limit.
  ///
  /// Takes address space for each file, and memory for what is written.
  /// - Parameters:
  ///   - seed: decides what faults leave behind, and the identities of databases that are made on the disk.
  ///   - sectorByteCount: what the disk writes as a whole or not, in bytes; a power of two from 8 on.
  ///   - maximumFileByteCount: address space for each file, in bytes; a write beyond it finds the disk full.
  public init(seed: UInt64 = 1, sectorByteCount: Int = 512, maximumFileByteCount: Int = 64 << 20) {
    precondition(sectorByteCount >= 8 && sectorByteCount.nonzeroBitCount == 1, "sectors are powers of two")
    self.seed = seed
    self.sectorByteCount = sectorByteCount
    let unit = max(sectorByteCount, 1 << 16)
    self.maximumFileByteCount = max(unit, (maximumFileByteCount + unit - 1) / unit * unit)
    state = Locked(State(generator: SeededGenerator(seed: seed), identities: SeededGenerator(seed: ~seed)))
  }

  // MARK: The seam

  package func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    let operation: DiskFailure.Operation = mode == .createNew ? .create : .open
    return try perform(SimulatedCall(operation, path)) { (state) throws(DiskFailure) in
      let content: SimulatedContent
      if let known = state.names[path] {
        if mode == .createNew { throw DiskFailure(.create, path: path, code: ErrorNumber.exists) }
        content = known
      } else {
        guard mode == .createNew, !state.directories.contains(path) else {
          throw DiskFailure(operation, path: path, code: mode == .createNew ? ErrorNumber.exists : ErrorNumber.notFound)
        }
        state.inodeCount += 1
        content = newContent(inode: state.inodeCount)
        state.change(NameChange(directories: [directory(holding: path)], names: [(path, content)]))
      }
      state.descriptionCount += 1
      return SimulatedFile(
        disk: self, path: path, content: content, description: state.descriptionCount, isWritable: mode.mayWrite)
    }
  }

  package func exists(_ path: String) throws(DiskFailure) -> Bool {
    try perform(SimulatedCall(.status, path)) { (state) throws(DiskFailure) in
      state.names[path] != nil || state.directories.contains(path)
    }
  }

  package func identity(of path: String) throws(DiskFailure) -> FileIdentity? {
    try perform(SimulatedCall(.status, path)) { (state) throws(DiskFailure) in
      if let content = state.names[path] { return content.identity }
      guard state.directories.contains(path) else { return nil }
      return FileIdentity(device: device, inode: state.directoryInode(of: path))
    }
  }

  package func rename(_ source: String, to target: String) throws(DiskFailure) {
    try perform(SimulatedCall(.rename, source)) { (state) throws(DiskFailure) in
      if state.directories.contains(source) {
        let moves = DirectoryEntry.moves(of: source, to: target, files: state.names, directories: state.directories)
        var change = NameChange(
          directories: [directory(holding: source), directory(holding: target)],
          names: moves.files.map { ($0.source, nil) } + moves.files.map { ($0.target, $0.content) })
        change.made = moves.directories.map(\.target)
        change.gone = moves.directories.map(\.source)
        let attributes = moves.directories.map { ($0.target, state.directoryAttributes.removeValue(forKey: $0.source)) }
        for (target, attributes) in attributes { state.directoryAttributes[target] = attributes }
        let inodes = moves.directories.map { ($0.target, state.directoryInodes.removeValue(forKey: $0.source)) }
        for (target, inode) in inodes { state.directoryInodes[target] = inode }
        return state.change(change)
      }
      guard let content = state.names[source] else {
        throw DiskFailure(.rename, path: source, code: ErrorNumber.notFound)
      }
      if source == target { return }
      state.change(.rename(source, to: target, content))
    }
  }

  package func renameWithoutReplacing(_ source: String, to target: String) throws(DiskFailure) {
    try perform(SimulatedCall(.rename, source)) { (state) throws(DiskFailure) in
      guard let content = state.names[source] else {
        throw DiskFailure(.rename, path: source, code: ErrorNumber.notFound)
      }
      if state.names[target] != nil { throw DiskFailure(.rename, path: source, code: ErrorNumber.exists) }
      state.change(.rename(source, to: target, content))
    }
  }

  package func remove(_ path: String) throws(DiskFailure) {
    try perform(SimulatedCall(.remove, path)) { (state) throws(DiskFailure) in
      guard state.names[path] != nil else { throw DiskFailure(.remove, path: path, code: ErrorNumber.notFound) }
      state.change(NameChange(directories: [directory(holding: path)], names: [(path, nil)]))
    }
  }

  package func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile { try open(path, .createNew) }

  package func createPrivate(_ path: String, byteCount: Int?) throws(DiskFailure) -> any DiskFile {
    let file = try open(path, .createNew)
    state.withLock { $0.names[path]?.attributes = FileAttributes(mode: 0o600) }
    return file
  }

  package func makePrivateDirectory(_ path: String) throws(DiskFailure) {
    try makeDirectory(path)
    state.withLock { $0.directoryAttributes[path] = FileAttributes(mode: 0o700) }
  }

  /// Numbers that nobody is bound by, for tests to ask.
  package func attributes(of path: String) throws(DiskFailure) -> FileAttributes {
    let call = SimulatedCall(.status, path)
    return try perform(call) { (state) throws(DiskFailure) in
      if let content = state.names[path] { return content.attributes }
      guard state.directories.contains(path) else { throw call.failure(code: ErrorNumber.notFound) }
      return state.directoryAttributes[path] ?? .ofNewDirectory
    }
  }

  package func setAttributes(_ attributes: FileAttributes, of path: String) throws(DiskFailure) {
    let call = SimulatedCall(.protect, path)
    try perform(call) { (state) throws(DiskFailure) in
      if let content = state.names[path] { return content.attributes = attributes }
      guard state.directories.contains(path) else { throw call.failure(code: ErrorNumber.notFound) }
      state.directoryAttributes[path] = attributes
    }
  }

  package func clone(_ source: String, to target: String) throws(DiskFailure) -> Bool { false }

  package func link(_ source: String, to target: String) throws(DiskFailure) {
    try perform(SimulatedCall(.link, source)) { (state) throws(DiskFailure) in
      guard let content = state.names[source] else {
        throw DiskFailure(.link, path: source, code: ErrorNumber.notFound)
      }
      if state.names[target] != nil { throw DiskFailure(.link, path: source, code: ErrorNumber.exists) }
      state.change(NameChange(directories: [directory(holding: target)], names: [(target, content)]))
    }
  }

  package func makeDirectory(_ path: String) throws(DiskFailure) {
    try perform(SimulatedCall(.makeDirectory, path)) { (state) throws(DiskFailure) in
      guard state.names[path] == nil, !state.directories.contains(path) else {
        throw DiskFailure(.makeDirectory, path: path, code: ErrorNumber.exists)
      }
      state.directoryInodes[path] = nil
      state.change(NameChange(directories: [directory(holding: path)], names: [], made: [path]))
    }
  }

  package func removeDirectory(_ path: String) throws(DiskFailure) {
    try perform(SimulatedCall(.remove, path)) { (state) throws(DiskFailure) in
      guard state.directories.contains(path) else {
        throw DiskFailure(.remove, path: path, code: ErrorNumber.notFound)
      }
      guard DirectoryEntry.entries(of: path, files: state.names.keys, directories: state.directories).isEmpty else {
        throw DiskFailure(.remove, path: path, code: ErrorNumber.notEmpty)
      }
      state.change(NameChange(directories: [directory(holding: path)], names: [], gone: [path]))
    }
  }

  package func entries(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    try perform(SimulatedCall(.list, directory)) { (state) throws(DiskFailure) in
      guard state.directories.contains(directory) else {
        throw DiskFailure(.list, path: directory, code: ErrorNumber.notFound)
      }
      return DirectoryEntry.entries(of: directory, files: state.names.keys, directories: state.directories)
    }
  }

  package func syncDirectory(holding path: String) throws(DiskFailure) {
    let synced = directory(holding: path)
    try perform(SimulatedCall(.syncDirectory, path)) { (state) throws(DiskFailure) in
      if state.ignoresSyncs { return }
      // A directory that is gone for good takes along what was pending inside it before: nothing of that can come back into
      // another directory of the same name.
      var isCovered = [Bool](repeating: false, count: state.pendingChanges.count)
      var gone: Set<String> = []
      for (index, change) in state.pendingChanges.enumerated().reversed() {
        isCovered[index] = change.directories.contains(synced) || !change.directories.isDisjoint(with: gone)
        gone.subtract(change.made)
        if isCovered[index] { gone.formUnion(change.gone) }
      }
      let pending = state.pendingChanges
      for (change, isCovered) in zip(pending, isCovered) where isCovered {
        change.apply(to: &state.durableNames, &state.durableDirectories)
      }
      state.pendingChanges = zip(pending, isCovered).filter { !$0.1 }.map(\.0)
    }
  }

  // MARK: For tests

  /// The names of all files, in order.
  public var paths: [String] { state.withLock { $0.names.keys.sorted() } }

  /// What a file contains now, synced or not; nil when there is none. For a look at it with other tools: written to a real file,
  /// `daybook check` says what is wrong with it.
  /// - Complexity: copies the file.
  public func bytes(of path: String) -> [UInt8]? {
    state.withLock { state in
      guard let content = state.names[path] else { return nil }
      // Safe: the lock keeps the size from changing.
      return unsafe [UInt8](UnsafeRawBufferPointer(start: content.memory.base, count: content.byteCount))
    }
  }

  /// Whether a file has these bytes and no others.
  package func holds(_ bytes: [UInt8], at path: String) -> Bool {
    state.withLock { state in
      guard let content = state.names[path], content.byteCount == bytes.count else { return false }
      // Safe: as above.
      let found = unsafe ByteView(UnsafeRawBufferPointer(start: content.memory.base, count: content.byteCount))
      return bytes.withView { compareKeys($0, found) == 0 }
    }
  }

  /// Puts a file in place of what has the name, durable in all respects: a database of an older version of an application, for
  /// instance. Counts as no call and fails for no fault. No database has that file open.
  /// - Parameter bytes: at most as many as a file may have on this disk.
  public func install(_ bytes: [UInt8], at path: String) {
    precondition(bytes.count <= maximumFileByteCount, "the file fits the disk")
    state.withLock { state in
      state.inodeCount += 1
      let content = newContent(inode: state.inodeCount)
      unsafe bytes.withUnsafeBytes { unsafe content.write(ByteView($0), at: 0) }
      content.sync()
      state.names[path] = content
      state.durableNames[path] = content
      var parent = directory(holding: path)
      while parent != "." && parent != "/" {
        state.directories.insert(parent)
        state.durableDirectories.insert(parent)
        parent = directory(holding: parent)
      }
    }
  }

  /// What space that was never written may hold after a crash: a file of another database, or of an earlier generation of
  /// this one, whose frames and pages hold but for their salt.
  package func recycle(_ blocks: [UInt8]) { state.withLock { $0.recycledBlocks = blocks } }

  /// A number that tells disks apart by their names and bytes. Two crashed images with one number are one image.
  package var fingerprint: UInt64 {
    state.withLock { state in
      var sum: UInt64 = 0
      for (path, content) in state.names {
        sum &+= Fingerprint.mixed(Fingerprint.hash(ofFile: path), content.fingerprint)
      }
      for path in state.directories { sum &+= Fingerprint.hash(ofDirectory: path) }
      return sum
    }
  }

  /// Flips bits of one byte behind everybody's back, in the cache and on the disk; false when there is no such byte.
  @discardableResult
  package func corrupt(_ path: String, at offset: Int, mask: UInt8 = 1) -> Bool {
    state.withLock { state in
      guard let content = state.names[path], offset >= 0, offset < content.byteCount else { return false }
      content.corrupt(at: offset, mask: mask)
      return true
    }
  }

  /// Whether a power loss now could change any byte. It need not lose anything acknowledged: at `.relaxed`, `Database.sync`
  /// writes a note after its sync, which nothing makes durable.
  package var hasPendingChanges: Bool {
    state.withLock { state in
      !state.pendingChanges.isEmpty || state.names.values.contains { $0.hasPendingChanges }
    }
  }

  private func newContent(inode: UInt64) -> SimulatedContent {
    SimulatedContent(
      identity: FileIdentity(device: device, inode: inode), memory: SimulatedMemory(capacity: maximumFileByteCount),
      sectorByteCount: sectorByteCount)
  }

  // MARK: Images

  func emptyImage(seed: UInt64) -> SimulatedDisk {
    SimulatedDisk(seed: seed, sectorByteCount: sectorByteCount, maximumFileByteCount: maximumFileByteCount)
  }

  func adopt(
    names: [String: SimulatedContent], durableNames: [String: SimulatedContent], pendingChanges: [NameChange],
    directories: Set<String>, durableDirectories: Set<String>, inodeCount: UInt64
  ) {
    state.withLock { state in
      state.directories = directories
      state.durableDirectories = durableDirectories
      state.names = names
      state.durableNames = durableNames
      state.pendingChanges = pendingChanges
      state.inodeCount = inodeCount
    }
  }
}

/// One change of directory entries that arrives as a whole or not at all.
struct NameChange: Sendable {
  let directories: Set<String>
  /// What each path names afterwards.
  let names: [(path: String, content: SimulatedContent?)]
  /// Directories that are there afterwards, and those that are not.
  var made: [String] = []
  var gone: [String] = []

  static func rename(_ source: String, to target: String, _ content: SimulatedContent) -> NameChange {
    NameChange(
      directories: [directory(holding: source), directory(holding: target)],
      names: [(source, nil), (target, content)])
  }

  func apply(to names: inout [String: SimulatedContent], _ made: inout Set<String>) {
    for (path, content) in self.names { names[path] = content }
    made.subtract(gone)
    made.formUnion(self.made)
  }
}

extension SimulatedDisk.State {
  /// Apart from those of files, whose order many seeds depend on.
  mutating func directoryInode(of path: String) -> UInt64 {
    if let known = directoryInodes[path] { return known }
    directoryInodeCount += 1
    directoryInodes[path] = 1 << 62 | directoryInodeCount
    return 1 << 62 | directoryInodeCount
  }

  mutating func change(_ change: NameChange) {
    change.apply(to: &names, &directories)
    pendingChanges.append(change)
  }

  /// After a crash: what lay in a directory whose own name did not arrive is gone with it.
  func reachable(
    _ names: [String: SimulatedContent], _ made: Set<String>
  ) -> (names: [String: SimulatedContent], directories: Set<String>) {
    // Also one that was made and is gone, both of which are pending: what was in it must not come back without it.
    let known = pendingChanges.reduce(into: directories.union(durableDirectories)) {
      $0.formUnion($1.made)
      $0.formUnion($1.gone)
    }
    func isThere(_ path: String) -> Bool {
      let parent = directory(holding: path)
      guard known.contains(parent) else { return true }
      return made.contains(parent) && isThere(parent)
    }
    return (names.filter { isThere($0.key) }, made.filter { isThere($0) })
  }

  /// How many bytes more fit; nil when the disk has no limit.
  var freeByteCount: Int? {
    guard let capacityByteCount else { return nil }
    return max(0, capacityByteCount - usedByteCount)
  }
}
