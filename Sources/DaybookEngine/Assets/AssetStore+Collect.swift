/// Removing contents: what is in the directory, since when nothing has referred to it, and its removal.
///
/// The record layer's collector decides (`AssetCollector`). The grace time counts from the moment at which a collection first
/// saw a name without a reference. A small text file records that moment, one line a name, so that it also counts for programs
/// that run for a second. If the file is lost, the grace time starts again.
extension AssetStore {
  /// What is in the directory.
  package struct Inventory: Sendable {
    /// The directory, open: a collection works only there, even if the name leads elsewhere by then. Nil when there is none.
    package let root: (any DiskFolder)?
    /// The users whose files a collection removes.
    let owners: FileOwners
    package var digests: [AssetDigest] = []
    /// Paths, relative to the directory, of temporary names and staged copies that nobody holds, here or in another process.
    package var leftovers: [String] = []
    /// Holders that are dead.
    package var deadHolders: [String] = []
    /// Holders of which it cannot be known whether they live, with paths as above of what they keep.
    package var unknownHolders: [String: [String]] = [:]
    /// Names that this library never gives.
    package var strangers: [String] = []
    /// Why nothing of the directory may be collected; nil when it is this database's.
    package var notOurs: NotOurs?

    init(of root: (any DiskFolder)?, _ owners: FileOwners) {
      self.root = root
      self.owners = owners
    }

    /// The names for which a note may say since when nothing has referred to them.
    var notedNames: [String] {
      digests.map(\.name) + leftovers + unknownHolders.keys.map { AssetHolder.prefix + $0 }
    }
  }

  /// The result of removing a name.
  package enum Removal: Sendable {
    /// It was removed.
    case removed
    /// It was gone, or is needed again.
    case kept
    /// It is not a file, or belongs to another user, and was left alone.
    case stranger
  }

  /// Everything in the directory; nothing when there is no directory.
  /// - Parameter passesUnreadable: goes on where the disk fails to read one of the folders.
  package func inventory(passesUnreadable: Bool = false) throws(DiskFailure) -> Inventory {
    guard let root = try self.root() else { return Inventory(of: nil, .anybody) }
    var result = Inventory(of: root, FileOwners.ofWriters(of: try attributes()).orOfRoot)
    result.notOurs = try notOurs(root)
    var holders = HolderLook(self, root)
    for entry in try AssetStore.entriesIfAny(root) {
      // Being made at this moment, or a leftover.
      if UnfinishedName.matches(entry.name) { continue }
      if entry.isDirectory {
        do { try takeFolder(entry.name, of: root, &holders, into: &result) } catch {
          guard passesUnreadable, error.isOfOnePlace else { throw error }
        }
      } else if AssetStore.isTemporaryName(entry.name) {
        holders.take(entry.name, at: entry.name, into: &result)
      } else if FolderMark.isTemporaryName(entry.name) || AssetStore.isTemporaryFirstSeen(entry.name) {
        result.leftovers.append(entry.name)
      } else if let id = AssetHolder.id(ofFile: entry.name) {
        switch holders.life(of: id) {
        case .living: break
        case .dead: result.deadHolders.append(id)
        case .unknown: result.unknownHolders[id, default: []] += []
        case nil: result.strangers.append(entry.name)
        }
      } else if entry.name == AssetStore.firstSeenName
        ? (try? root.checkRemovable(entry.name, ownedBy: result.owners)) == nil : entry.name != FolderMark.name
      {
        result.strangers.append(entry.name)
      }
    }
    return result
  }

  /// Which holders live, asked once for each.
  private struct HolderLook {
    private let root: any DiskFolder
    private var known: [String: AssetHolder.Life?] = [:]

    init(_ store: AssetStore, _ root: any DiskFolder) {
      self.root = root
      for id in store.state.withLock({ state in state.holders.map(\.holder.id) }) { known[id] = .living }
    }

    mutating func life(of id: String) -> AssetHolder.Life? {
      if let answer = known[id] { return answer }
      let answer = AssetHolder.life(of: id, in: root)
      known[id] = .some(answer)
      return answer
    }

    /// Notes a name that a holder keeps or kept.
    mutating func take(_ name: String, at path: String, into result: inout Inventory) {
      let id = AssetHolder.holder(ofTemporary: name)
      switch id.flatMap({ life(of: $0) }) {
      case .living: break
      case .unknown: result.unknownHolders[id ?? "", default: []].append(path)
      case .dead, nil: result.leftovers.append(path)
      }
    }
  }

  private func takeFolder(
    _ name: String, of root: any DiskFolder, _ holders: inout HolderLook, into result: inout Inventory
  ) throws(DiskFailure) {
    let folder: any DiskFolder
    do { folder = try root.folder(name) } catch {
      // Something replaced the folder since it was listed; it is not ours.
      if error.kind == .notFound || error.kind == .notRegular { return }
      // We never put anything under such a name, so there is no need to look into it.
      if error.kind == .permission, !AssetStore.isOwnFolder(name), !isMutant("look-into-every-folder") {
        result.strangers.append(name)
        return
      }
      throw error
    }
    for entry in try AssetStore.entriesIfAny(folder) {
      if name == AssetStore.stagingName {
        if entry.isDirectory || !AssetStore.isStagedName(entry.name) {
          result.strangers.append("\(name)/\(entry.name)")
        } else {
          holders.take(entry.name, at: "\(name)/\(entry.name)", into: &result)
        }
      } else if !entry.isDirectory, let digest = AssetDigest(name: entry.name), digest.folder == name {
        result.digests.append(digest)
      } else {
        result.strangers.append("\(name)/\(entry.name)")
      }
    }
  }

  private static func entriesIfAny(_ folder: any DiskFolder) throws(DiskFailure) -> [DirectoryEntry] {
    do { return try folder.entries() } catch {
      guard error.kind == .notFound else { throw error }
      return []
    }
  }

  /// The size of a file in the directory; nil when it is gone.
  /// - Parameter root: the directory, if it is open.
  package func byteCount(of name: String, in root: (any DiskFolder)? = nil) -> Int? {
    (try? knownByteCount(of: name, in: root)) ?? nil
  }

  package func byteCount(of digest: AssetDigest, in root: (any DiskFolder)? = nil) -> Int? {
    byteCount(of: "\(digest.folder)/\(digest.name)", in: root)
  }

  /// The size of a content; nil when there is no such file, and a failure when the disk does not say.
  package func knownByteCount(of digest: AssetDigest, in root: (any DiskFolder)?) throws(DiskFailure) -> Int? {
    try knownByteCount(of: "\(digest.folder)/\(digest.name)", in: root)
  }

  private func knownByteCount(of name: String, in root: (any DiskFolder)?) throws(DiskFailure) -> Int? {
    do throws(DiskFailure) {
      var opened = root
      if opened == nil { opened = try self.root() }
      guard let opened else { return nil }
      let (folder, name) = try AssetStore.place(of: name, in: opened)
      let file = try folder.open(name, .readContent)
      defer { file.close() }
      return try file.byteCount()
    } catch {
      guard error.kind == .notFound || error.kind == .notRegular else { throw error }
      return nil
    }
  }

  /// The folder and the name there, for a path relative to the directory.
  private static func place(of path: String, in root: any DiskFolder) throws(DiskFailure) -> (any DiskFolder, String) {
    let parts = path.split(separator: "/")
    return parts.count == 2 ? (try root.folder(String(parts[0])), String(parts[1])) : (root, path)
  }

  // MARK: a collection

  /// From here on, the store remembers what transactions refer to. Called with the turn, so that no transaction is half done.
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
  /// transaction can refer to it between the test and the removal.
  package func removeUnlessRescued(_ digest: AssetDigest, of inventory: Inventory) throws(DiskFailure) -> Removal {
    if state.withLock({ $0.rescued?.contains(digest) ?? true }) { return .kept }
    return try remove("\(digest.folder)/\(digest.name)", of: inventory)
  }

  /// Removes a leftover: nobody can hold it again, because a holder's number is drawn anew each time.
  package func removeLeftover(_ name: String, of inventory: Inventory) throws(DiskFailure) -> Removal {
    try remove(name, of: inventory)
  }

  private func remove(_ path: String, of inventory: Inventory) throws(DiskFailure) -> Removal {
    guard let root = inventory.root else { return .kept }
    do {
      let (folder, name) = try AssetStore.place(of: path, in: root)
      try folder.remove(name, ownedBy: inventory.owners)
      return .removed
    } catch {
      switch error.kind {
      case .notFound: return .kept
      case .notRegular, .foreign: return .stranger
      default: throw error
      }
    }
  }

  /// Removes what was never given its name, in the directory and beside it.
  package func removeUnfinishedNames(of inventory: Inventory) {
    guard let root = inventory.root else { return }
    root.removeUnfinishedNames(ownedBy: inventory.owners)
    (try? disk.folder(holding: directory))?.removeUnfinishedNames(ownedBy: inventory.owners)
  }

  /// - Parameter isOverdue: also one of which nothing is known.
  package func removeDeadHolder(_ id: String, of inventory: Inventory, isOverdue: Bool = false) throws(DiskFailure) {
    guard let root = inventory.root else { return }
    try AssetHolder.removeDead(id, in: root, ownedBy: inventory.owners, isOverdue: isOverdue)
  }

  // MARK: when names were first seen

  /// When names were first seen without a reference: seconds, as the database's clock counts them.
  package struct FirstSeen: Sendable {
    package var seconds: [String: Double] = [:]
    /// Whether the file says more than that, and is to be written again.
    package var hasOtherLines = false
    /// The date when this was written, and for how many seconds the system was up then.
    package var clocks: (date: Double, uptime: Double)?

    package init() {}

    /// The times by a date that may have been set forward since: no more time has passed than the system has run.
    package func seconds(at date: Double, uptime: Double?) -> [String: Double] {
      guard let uptime, let clocks, !isMutant("trust-the-date") else { return seconds }
      // Else the system was started again, and what passed before that is unknown.
      let passed = uptime >= clocks.uptime ? uptime - clocks.uptime : uptime
      let ahead = date - clocks.date - passed
      // Dates are adjusted a little all the time.
      return ahead > 1 ? seconds.mapValues { $0 + ahead } : seconds
    }
  }

  /// What the file says of the names that are here; what it says of others is passed over. What another user has put there says nothing either.
  package func readFirstSeen(of inventory: Inventory) -> FirstSeen {
    var firstSeen = FirstSeen()
    guard !inventory.strangers.contains(AssetStore.firstSeenName),
      let file = try? inventory.root?.open(AssetStore.firstSeenName, .readContent)
    else { return firstSeen }
    defer { file.close() }
    let names = Set(inventory.notedNames)
    // A user who may write the database may forge it: one that is longer than all that we note costs nothing. Then the grace time
    // starts again, as without the file.
    let limit = isMutant("read-any-note") ? .max : (names.count + 16) * AssetStore.longestFirstSeenLine
    guard let byteCount = try? file.byteCount(), byteCount <= limit else {
      firstSeen.hasOtherLines = true
      return firstSeen
    }
    let buffer = ByteBuffer(capacity: max(1, byteCount))
    // Safe: the buffer was made for this many bytes.
    guard let count = try? unsafe file.read(into: buffer.base, count: byteCount, at: 0) else { return firstSeen }
    buffer.count = count
    // Line by line over the bytes: texts are made only of what may be ours.
    let bytes = buffer.view.array
    var start = 0
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
      let line = end - start <= AssetStore.longestFirstSeenLine ? bytes[start..<end] : []
      start = end + 1
      let parts = line.split(separator: 0x20, maxSplits: 3, omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
      let numbers = parts.dropFirst().compactMap { Double($0) }.filter(\.isFinite)
      if parts.count == 2, numbers.count == 1, names.contains(parts[0]) {
        firstSeen.seconds[parts[0]] = numbers[0]
      } else if parts.count == 3, numbers.count == 2, parts[0] == AssetStore.clocksKey {
        firstSeen.clocks = (numbers[0], numbers[1])
      } else {
        firstSeen.hasOtherLines = true
      }
    }
    return firstSeen
  }

  /// The longest name that is noted, that of a copy that was handed out with its folder, and a number.
  private static let longestFirstSeenLine = 160

  /// Writes the file. It is not synced: it may be lost. Another user's, or what is no file, stays: then nothing is written.
  ///
  /// Not with those that transactions have referred to since the collection began.
  package func writeFirstSeen(_ given: FirstSeen, of inventory: Inventory) throws(DiskFailure) {
    guard let root = inventory.root, !inventory.strangers.contains(AssetStore.firstSeenName) else { return }
    try noting.withLock { () throws(DiskFailure) in
      var firstSeen = given
      for digest in state.withLock({ $0.rescued ?? [] }) { firstSeen.seconds[digest.name] = nil }
      state.withLock { $0.noted = nil }
      if firstSeen.seconds.isEmpty {
        let name = AssetStore.firstSeenName
        if try root.identity(of: name) != nil { try root.remove(name, ownedBy: inventory.owners) }
      } else {
        let buffer = ByteBuffer(capacity: 4096)
        if let clocks = firstSeen.clocks { buffer.append(utf8: "\(AssetStore.clocksKey) \(clocks.date) \(clocks.uptime)\n") }
        for (name, seconds) in firstSeen.seconds.sorted(by: { $0.key < $1.key }) {
          buffer.append(utf8: "\(name) \(seconds)\n")
        }
        try writeFirstSeen(buffer, in: root)
      }
      let digests = Set(firstSeen.seconds.keys.compactMap { AssetDigest(name: $0) })
      state.withLock { $0.noted = (digests, $0.suspensionCount) }
    }
  }

  /// Ends the wait of all asset files that a commit is about to refer to: else one would go right after the commit that drops it the
  /// next time, and readers in other processes would have no grace time. If the note cannot be written it is removed, and all wait
  /// again. Called once in the turn of the commit: a database that shares its file reads the note each time.
  package func endWaits(of digests: Set<AssetDigest>) throws(DiskFailure) {
    if isMutant("keep-waiting") { return }
    let root = try disk.folder(at: directory)
    try requireTrustedOwner(root)
    noting.withLock {
      let isKnown = state.withLock { state in
        guard let noted = state.noted, !sharesFile, noted.suspensionCount == state.suspensionCount else { return false }
        return noted.digests.isDisjoint(with: digests)
      }
      if isKnown { return }
      // Without a note nothing waits. Another user's says nothing.
      guard let owners = try? FileOwners.ofWriters(of: attributes()).orOfRoot else { return }
      do throws(DiskFailure) { try root.checkRemovable(AssetStore.firstSeenName, ownedBy: owners) } catch {
        // A disk that does not answer says nothing.
        guard [.notFound, .foreign, .notRegular].contains(error.kind) else { return }
        return state.withLock { $0.noted = ([], $0.suspensionCount) }
      }
      guard let bytes = noteBytes(in: root) else {
        try? root.remove(AssetStore.firstSeenName, ownedBy: owners)
        return
      }
      let ended = AssetStore.withoutLines(of: digests, in: bytes)
      if let ended {
        let buffer = ByteBuffer(capacity: max(1, ended.count))
        buffer.append(ended)
        if (try? writeFirstSeen(buffer, in: root)) == nil {
          try? root.remove(AssetStore.firstSeenName, ownedBy: owners)
          return
        }
      }
      // Another process may write the next one.
      if sharesFile { return }
      state.withLock { state in
        var noted: Set<AssetDigest>
        if let known = state.noted, known.suspensionCount == state.suspensionCount {
          noted = known.digests
        } else {
          let names = (ended ?? bytes).split(separator: 0x0A).map { $0.prefix { $0 != 0x20 } }
          noted = Set(names.compactMap { AssetDigest(name: String(decoding: $0, as: UTF8.self)) })
        }
        noted.subtract(digests)
        state.noted = (noted, state.suspensionCount)
      }
    }
  }

  /// A note without the lines of some asset files; nil where it has none of them.
  private static func withoutLines(of digests: Set<AssetDigest>, in bytes: [UInt8]) -> [UInt8]? {
    let names = Set(digests.map { Array($0.name.utf8)[...] })
    var (others, hasOne) = ([UInt8](), false)
    for line in bytes.split(separator: 0x0A) {
      // As bytes: a note may have many lines, and writers wait.
      if names.contains(line.prefix(2 * AssetDigest.byteCount)) {
        hasOne = true
      } else {
        others += line
        others.append(0x0A)
      }
    }
    return hasOne ? others : nil
  }

  /// What the note says; nil where there is none, or one that is longer than what is noted of a million assets.
  private func noteBytes(in root: any DiskFolder) -> [UInt8]? {
    guard let file = try? root.open(AssetStore.firstSeenName, .readContent) else { return nil }
    defer { file.close() }
    guard let byteCount = try? file.byteCount(), byteCount <= AssetStore.longestFirstSeenLine << 20 else { return nil }
    let buffer = ByteBuffer(capacity: max(1, byteCount))
    // Safe: the buffer was made for this many bytes.
    guard let count = try? unsafe file.read(into: buffer.base, count: byteCount, at: 0) else { return nil }
    buffer.count = count
    return buffer.view.array
  }

  private func writeFirstSeen(_ buffer: ByteBuffer, in root: any DiskFolder) throws(DiskFailure) {
    let (name, temporary) = (AssetStore.firstSeenName, AssetStore.temporaryFirstSeenPrefix + hexDigits(random()))
    let file = try root.create(temporary, byteCount: buffer.count, like: try attributes()?.ofBookkeeping)
    defer { file.close() }
    do throws(DiskFailure) {
      try file.write(buffer.view, at: 0)
      try root.rename(temporary, to: root, name)
    } catch {
      try? root.remove(temporary)
      throw error
    }
  }
}
