import Synchronization

/// The versions of one store that somebody may read, the pages that only older ones need, and which version is shown.
///
///     writer ── enqueue ──► pending ── durable ──► newest, shown to readers ── replaced, nobody pins it ──► freed
///               retire  ──► waiting pages ──────────────────────────────────── nobody pins a version ────► freed
///
/// Guarded by `monitor`, which is the monitor of syncs: what a sync has made durable is shown before anybody else looks. Pages
/// belong to the holder of the turn.
final class Versions: @unchecked Sendable {
  let slots: ReaderSlots
  let monitor: Monitor
  private let editor: TreeEditor
  private let log: LogWriter
  private let snapshotMemoryByteCount: Int

  @safe @exclusivity(unchecked) private var pending: [StateReference] = []
  /// Address → version of every state that is not freed.
  @safe @exclusivity(unchecked) private(set) var live: [UInt: UInt64] = [:]
  /// The newest state that was shown, and its sequence for those who have pinned none.
  let newestWord = Atomic<UInt>(0)
  let shownSequence = Atomic<UInt64>(0)
  /// Where the readers of a database come in, while its current store is the one of these versions.
  @safe @exclusivity(unchecked) private var entrance: Entrance?
  /// Work that looks at versions without having pinned them.
  private var visitorCount = 0
  private var isReleased = false

  /// Pages that are replaced, but that a pinned version may still need.
  @safe @exclusivity(unchecked) private var waitingPages: [TreeEditor.Retired] = []
  /// What they take of memory; of trees that were dropped as a whole only their roots.
  @safe @exclusivity(unchecked) private(set) var waitingByteCount = 0
  /// With so many waiting bytes it is worth looking who still needs them.
  @safe @exclusivity(unchecked) private var reclaimThreshold: Int
  private let leastReclaimByteCount: Int
  /// How often all that waits was looked through.
  private(set) var reclaimRoundCount = 0

  init(slots: ReaderSlots, monitor: Monitor, editor: TreeEditor, log: LogWriter, options: StoreOptions) {
    self.slots = slots
    self.monitor = monitor
    self.editor = editor
    self.log = log
    snapshotMemoryByteCount = options.snapshotMemoryByteCount
    leastReclaimByteCount = options.reclaimByteCount
    reclaimThreshold = options.reclaimByteCount
  }

  deinit { for word in live.keys { StateReference(word: word).free() } }

  // MARK: showing

  /// Makes a state that readers may see later, in the order of calls.
  func enqueue(_ record: StateRecord, of store: Store, _: borrowing Turn.Hold) {
    var record = record
    record.owner = unsafe UInt(bitPattern: Unmanaged.passUnretained(store).toOpaque())
    let state = StateReference(record)
    monitor.lock()
    live[state.word] = record.version
    pending.append(state)
    monitor.unlock()
  }

  /// Shows the newest pending state whose frame is durable (or any, when `regardless`). Returns the sequence that became
  /// visible.
  func publish(regardless: Bool = false) -> UInt64? { monitor.withLock { publishLocked(regardless: regardless) } }

  /// The same, called with `monitor` locked.
  func publishLocked(regardless: Bool) -> UInt64? {
    let durableNumber = log.durableThrough.load(ordering: .acquiring)
    var shown = -1
    for (index, state) in pending.enumerated() {
      if !regardless && state.record.frameNumber > durableNumber { break }
      shown = index
    }
    guard shown >= 0 else { return nil }
    let state = pending[shown]
    newestWord.store(state.word, ordering: .sequentiallyConsistent)
    entrance?.word.store(state.word, ordering: .sequentiallyConsistent)
    shownSequence.store(state.record.sequence, ordering: .releasing)
    pending.removeSubrange(0...shown)
    return state.record.sequence
  }

  /// From here on those who come through the entrance find these versions, and not those of the store before.
  func take(_ entrance: Entrance, from older: Versions?) {
    // Both locks: in between, the older one would free what the entrance still leads to.
    older?.monitor.lock()
    monitor.lock()
    older?.entrance = nil
    self.entrance = entrance
    entrance.word.store(newestWord.load(ordering: .relaxed), ordering: .sequentiallyConsistent)
    monitor.unlock()
    older?.monitor.unlock()
  }

  // MARK: looking without a pin

  /// Keeps the memory of all versions while somebody looks at them who has pinned none; false when it is gone already.
  func beginVisit() -> Bool {
    monitor.withLock {
      if isReleased { return false }
      visitorCount += 1
      return true
    }
  }

  func endVisit() { monitor.withLock { visitorCount -= 1 } }

  /// The states older than a version that slots or snapshots name.
  func pinnedStates(before version: UInt64) -> [StateReference] {
    let words = slots.pinnedWords()
    return monitor.withLock {
      // A slot may name a version that is gone; those that are not are in this table, and only the turn removes them.
      live.filter { words.contains($0) && $1 < version }.map { StateReference(word: $0.key) }
    }
  }

  /// Whether nobody looks at any version and nobody will; true once.
  /// - Parameter endsSnapshots: those that rest do not count.
  func mayRelease(endsSnapshots: Bool) -> Bool {
    let words = endsSnapshots ? slots.readWords() : slots.pinnedWords()
    return monitor.withLock {
      if isReleased || visitorCount > 0 || live.contains(where: { words.contains($0.key) }) { return false }
      isReleased = true
      return true
    }
  }

  /// What they hold has been given back.
  var wereReleased: Bool { monitor.withLock { isReleased } }

  // MARK: freeing

  /// Puts replaced pages aside; those that no version ever showed are free at once.
  func retire(_ retired: [TreeEditor.Retired], newest: UInt64, _: borrowing Turn.Hold) {
    for page in retired {
      if !page.isWholeTree && page.birth == newest && page.reference & PageSource.memoryTag != 0 {
        editor.pages.deallocate(page.reference)
      } else {
        waitingPages.append(page)
        waitingByteCount += DirtyPages.byteCount(of: page.reference)
      }
    }
  }

  /// Frees pages and states where so much waits that it is worth it.
  @inline(__always)
  func reclaimIfDue(_ hold: borrowing Turn.Hold) {
    if waitingByteCount >= reclaimThreshold { reclaim(hold) }
  }

  /// The next look is worth it soon: what waits for a commit that is not durable yet comes free then.
  func reclaimSoon(_ hold: borrowing Turn.Hold) {
    reclaim(hold)
    reclaimThreshold = leastReclaimByteCount
  }

  /// Frees pages and states that no pinned version needs.
  ///
  /// What pinned versions hold back beyond `snapshotMemoryByteCount` costs the oldest resting snapshots their lives. The turn is
  /// held: all of them go in one round, and the next comes when there is an eighth more.
  func reclaim(_ hold: borrowing Turn.Hold) {
    while true {
      reclaimRoundCount += 1
      let (pinned, published) = freeStates()
      expandWholeTrees(pinned: pinned, published: published)
      var heldByteCount = 0
      waitingPages.removeAll { page in
        if page.death > published { return false }
        if isPinned(pinned, page.birth, page.death), !isMutant("reuse-pinned-page") {
          heldByteCount += DirtyPages.byteCount(of: page.reference)
          return false
        }
        if page.isWholeTree { return false }
        editor.pages.deallocate(page.reference)
        return true
      }
      // Another round frees what they have held. A snapshot that is read through just now may call for one more.
      guard heldByteCount > snapshotMemoryByteCount,
        revokeSnapshots(holding: heldByteCount - snapshotMemoryByteCount, pinned: pinned, published: published)
      else { break }
    }
    waitingByteCount = waitingPages.reduce(0) { $0 + DirtyPages.byteCount(of: $1.reference) }
    let limit = snapshotMemoryByteCount
    let held = waitingByteCount
    reclaimThreshold = max(leastReclaimByteCount, min(held * 2, limit), held + held / 8)
  }

  /// Frees the states that nobody pins. Returns the versions that are pinned, in order, and the newest that readers see.
  private func freeStates() -> (pinned: [UInt64], published: UInt64) {
    monitor.lock()
    defer { monitor.unlock() }
    // The newest first, then the slots, with nobody publishing in between: a reader that finds any other version still
    // the newest at its second look has its slot filled by now. The other way round, one that pins the newest after we
    // passed its slot would lose it to the next publication.
    let newest = StateReference(word: newestWord.load(ordering: .sequentiallyConsistent))
    let words = slots.pinnedWords()
    let waiting = Set(pending.map(\.word))
    var pinned: [UInt64] = []
    for (word, version) in live {
      if words.contains(word) {
        pinned.append(version)
      } else if word != newest.word && !waiting.contains(word) {
        StateReference(word: word).free()
        live[word] = nil
      }
    }
    pinned.sort()
    return (pinned, newest.record.version)
  }

  /// Revokes resting snapshots, the oldest first and no more than it takes, until so many bytes are held by nobody any more;
  /// false when there was none to revoke.
  ///
  /// A page comes free with the youngest version that needs it, unless that one or an older one is being read.
  /// - Parameters:
  ///   - byteCount: how much has to come free.
  ///   - pinned: the versions that are pinned, in order.
  private func revokeSnapshots(holding byteCount: Int, pinned: [UInt64], published: UInt64) -> Bool {
    let versions = monitor.withLock { live }
    let read = slots.readWords().compactMap { versions[$0] }.sorted()
    var freedByteCounts: [UInt64: Int] = [:]
    for page in waitingPages where page.death <= published && !isPinned(read, page.birth, page.death) {
      let next = firstIndex(in: pinned, atLeast: page.death)
      guard next > 0, pinned[next - 1] >= page.birth else { continue }
      freedByteCounts[pinned[next - 1], default: 0] += DirtyPages.byteCount(of: page.reference)
    }
    var hasRevoked = false
    var missing = byteCount
    var last: UInt64?
    for snapshot in slots.snapshots.resting(below: published, of: versions) {
      if snapshot.version != last {
        // All snapshots of one version go together.
        if missing <= 0 { break }
        last = snapshot.version
        missing -= freedByteCounts[snapshot.version] ?? 0
      }
      if slots.snapshots.revoke(snapshot) { hasRevoked = true }
    }
    return hasRevoked
  }

  /// Whether a pinned version lies in `birth ..< death`; `versions` ascend.
  private func isPinned(_ versions: [UInt64], _ birth: UInt64, _ death: UInt64) -> Bool {
    let index = firstIndex(in: versions, atLeast: birth)
    return index < versions.count && versions[index] < death
  }

  private func firstIndex(in versions: [UInt64], atLeast version: UInt64) -> Int {
    var lower = 0
    var upper = versions.count
    while lower < upper {
      let middle = (lower + upper) / 2
      if versions[middle] < version { lower = middle + 1 } else { upper = middle }
    }
    return lower
  }

  /// Turns all dropped trees into their single pages: written pages are retired one by one next.
  func expandAllWholeTrees(_: borrowing Turn.Hold) { expandWholeTrees(pinned: [], published: 0, all: true) }

  /// Turns dropped trees that nobody can reach any more into their single pages.
  private func expandWholeTrees(pinned: [UInt64], published: UInt64, all: Bool = false) {
    var expanded: [TreeEditor.Retired] = []
    waitingPages.removeAll { tree in
      guard tree.isWholeTree else { return false }
      if !all && (tree.death > published || isPinned(pinned, 0, tree.death)) { return false }
      editor.collectPages(below: tree.reference, death: tree.death, into: &expanded)
      return true
    }
    waitingPages += expanded
    for page in expanded { waitingByteCount += DirtyPages.byteCount(of: page.reference) }
  }
}

extension TreeEditor {
  /// The pages in memory below a reference, as retirements of their own.
  func collectPages(below reference: UInt64, death: UInt64, into result: inout [Retired]) {
    guard reference & PageSource.memoryTag != 0 else { return }
    let meta = DirtyPage(reference)
    guard !meta.isRetired else { return }
    meta.isRetired = true
    result.append(Retired(reference: reference, birth: meta.birth, death: death))
    if LeafDelta.isDelta(reference) { return }
    var children: [UInt64] = []
    meta.page.replaceReferences { child in
      children.append(child)
      return child
    }
    for child in children { collectPages(below: child, death: death, into: &result) }
  }
}
