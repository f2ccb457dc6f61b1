import Synchronization

/// The versions of one store that may be read, the pages that only older ones need, and which version is published.
///
///     writer ── enqueue ──► pending ── durable ──► newest, shown to readers ── replaced, nobody pins it ──► freed
///               retire  ──► waiting pages ──────────────────────────────────── nobody pins a version ────► freed
///
/// Guarded by the store's `syncMonitor`: what a sync has made durable is published before anyone else
/// looks. Pages belong to the holder of the turn.
final class Versions: @unchecked Sendable {
  let slots: ReaderSlots
  let syncMonitor: Monitor
  private let editor: TreeEditor
  private let log: LogWriter
  private let snapshotMemoryByteCount: Int

  @safe @exclusivity(unchecked) private var pending: [VersionReference] = []
  /// The address and version of every state that is not freed.
  @safe @exclusivity(unchecked) private(set) var live: [UInt: UInt64] = [:]
  /// What the layer above knows of their trees.
  let facts = FactsOfVersions()
  /// More are kept only for versions that are read, or that are not durable yet.
  private static let mostFacts = 16
  /// The newest published state, and its sequence for readers that have not pinned it.
  let publishedWord = Atomic<UInt>(0)
  let publishedSequence = Atomic<UInt64>(0)
  /// The entrance for readers, while the store of these versions is the current one.
  @safe @exclusivity(unchecked) private var entrance: Entrance?
  /// How much work visits versions without having pinned them.
  private var visitorCount = 0
  private var isReleased = false

  /// Replaced pages that a pinned version may still need.
  @safe @exclusivity(unchecked) private var waitingPages: [TreeEditor.Retired] = []
  /// Their memory; of trees that were dropped as wholes, only the roots.
  @safe @exclusivity(unchecked) private(set) var waitingByteCount = 0
  /// With so many waiting bytes, it is worth finding out which are still needed.
  @safe @exclusivity(unchecked) private var reclaimThreshold: Int
  private let leastReclaimByteCount: Int
  /// How often all waiting pages were examined.
  private(set) var reclaimRoundCount = 0

  init(slots: ReaderSlots, editor: TreeEditor, log: LogWriter, options: StoreOptions) {
    self.slots = slots
    syncMonitor = log.syncMonitor
    self.editor = editor
    self.log = log
    snapshotMemoryByteCount = options.snapshotMemoryByteCount
    leastReclaimByteCount = options.reclaimByteCount
    reclaimThreshold = options.reclaimByteCount
  }

  deinit { for word in live.keys { VersionReference(word: word).free() } }

  // MARK: publishing

  /// Queues a state that readers will see later, in the order of calls.
  func enqueue(_ version: Version, of store: Store, _: borrowing Turn.Hold) {
    var version = version
    version.owner = unsafe UInt(bitPattern: Unmanaged.passUnretained(store).toOpaque())
    let state = VersionReference(version)
    // Before anyone can pin it.
    let factsCount = facts.add(store.facts, from: version.number)
    syncMonitor.lock()
    live[state.word] = version.number
    pending.append(state)
    syncMonitor.unlock()
    if factsCount > Versions.mostFacts { _ = freeStates() }
  }

  /// Whether a commit waits for its sync.
  var hasPending: Bool { syncMonitor.withLock { !pending.isEmpty } }

  /// Publishes the newest pending state whose frame is durable (or any, if `regardless`). Returns the sequence that became
  /// visible.
  func publish(regardless: Bool = false) -> UInt64? { syncMonitor.withLock { publishLocked(regardless: regardless) } }

  /// The same, called with `syncMonitor` locked.
  func publishLocked(regardless: Bool) -> UInt64? {
    let durableNumber = log.durableNumber
    var last = -1
    for index in pending.indices {
      if !regardless && pending[index].fields.frameNumber > durableNumber { break }
      last = index
    }
    guard last >= 0 else { return nil }
    let state = pending[last]
    publishedWord.store(state.word, ordering: .sequentiallyConsistent)
    entrance?.word.store(state.word, ordering: .sequentiallyConsistent)
    publishedSequence.store(state.fields.sequence, ordering: .releasing)
    pending.removeSubrange(0...last)
    return state.fields.sequence
  }

  /// From here on, new readers find these versions, not those of the former store.
  func take(_ entrance: Entrance, from older: Versions?) {
    // With both locks: in between, the older one could free what the entrance still leads to.
    older?.syncMonitor.lock()
    syncMonitor.lock()
    older?.entrance = nil
    self.entrance = entrance
    entrance.word.store(publishedWord.load(ordering: .relaxed), ordering: .sequentiallyConsistent)
    syncMonitor.unlock()
    older?.syncMonitor.unlock()
  }

  /// The newest state, published or not: what the next transaction begins on. Only another one of the same turn's holder could
  /// take its place.
  func head(_: borrowing Turn.Hold) -> VersionReference {
    syncMonitor.withLock { pending.last ?? VersionReference(word: publishedWord.load(ordering: .relaxed)) }
  }

  // MARK: looking without a pin

  /// Keeps the memory of all versions during a visit without a pin; false when it is released already.
  func beginVisit() -> Bool {
    syncMonitor.withLock {
      if isReleased { return false }
      visitorCount += 1
      return true
    }
  }

  func endVisit() { syncMonitor.withLock { visitorCount -= 1 } }

  /// The states, older than a version, that slots or snapshots name.
  func pinnedStates(before version: UInt64) -> [VersionReference] {
    let words = slots.pinnedWords()
    return syncMonitor.withLock {
      // A slot may name a freed version. Versions that are not freed are in this table, and only the holder of the turn removes
      // them.
      live.filter { words.contains($0) && $1 < version }.map { VersionReference(word: $0.key) }
    }
  }

  /// Whether nobody reads any version and nobody will; true once.
  /// - Parameter endsSnapshots: whether snapshots without reads do not count.
  func mayRelease(endsSnapshots: Bool) -> Bool {
    let words = endsSnapshots ? slots.readWords() : slots.pinnedWords()
    return syncMonitor.withLock {
      if isReleased || visitorCount > 0 || live.contains(where: { words.contains($0.key) }) { return false }
      isReleased = true
      return true
    }
  }

  /// Whether their memory was released.
  var wereReleased: Bool { syncMonitor.withLock { isReleased } }

  // MARK: freeing

  /// Sets aside replaced pages; pages that were never published are freed at once.
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

  /// Frees pages and states if enough are waiting.
  @inline(__always)
  func reclaimIfDue(_ hold: borrowing Turn.Hold) {
    if waitingByteCount >= reclaimThreshold { reclaim(hold) }
  }

  /// Examines at once, and makes the next examination come soon: what waits for a commit that is not durable yet can then be freed.
  func reclaimSoon(_ hold: borrowing Turn.Hold) {
    reclaim(hold)
    reclaimThreshold = leastReclaimByteCount
  }

  /// Frees pages and states that no pinned version needs.
  ///
  /// If pinned versions hold back more than `snapshotMemoryByteCount`, the oldest snapshots without reads are revoked: first
  /// those of stores that were replaced. Since the turn is held, one round revokes as many as necessary, and the next comes
  /// when there is an eighth more.
  func reclaim(_ hold: borrowing Turn.Hold) {
    while true {
      reclaimRoundCount += 1
      let (pinned, published) = freeStates()
      expandWholeTrees(pinned: pinned, published: published)
      var heldByteCount = 0
      // Not `removeAll(where:)`, which is generic: without optimisation it was a tenth of a durable commit.
      var keptCount = 0
      var index = 0
      while index < waitingPages.count {
        let page = waitingPages[index]
        index += 1
        if page.death <= published {
          if isPinned(pinned, page.birth, page.death), !isMutant("reuse-pinned-page") {
            heldByteCount += DirtyPages.byteCount(of: page.reference)
          } else if !page.isWholeTree {
            editor.pages.deallocate(page.reference)
            continue
          }
        }
        if keptCount < index - 1 { waitingPages[keptCount] = page }
        keptCount += 1
      }
      waitingPages.removeSubrange(keptCount...)
      slots.kept.limitMemory(to: max(0, snapshotMemoryByteCount - heldByteCount))
      // Another round frees what they held. A snapshot that is being read now may require one more.
      guard heldByteCount > snapshotMemoryByteCount,
        revokeSnapshots(holding: heldByteCount - snapshotMemoryByteCount, pinned: pinned, published: published)
      else { break }
    }
    waitingByteCount = waitingPages.reduce(0) { $0 + DirtyPages.byteCount(of: $1.reference) }
    let limit = snapshotMemoryByteCount
    let held = waitingByteCount
    reclaimThreshold = max(leastReclaimByteCount, min(held * 2, limit), held + held / 8)
  }

  /// Frees the states that nobody pins. Returns the pinned versions, in order, and the newest published one.
  private func freeStates() -> (pinned: [UInt64], published: UInt64) {
    syncMonitor.lock()
    defer { syncMonitor.unlock() }
    // Read the newest version first, then the slots, with no publication in between. A reader whose second look has found
    // another version still newest has filled its slot by now. In the other order, a reader could pin the newest version after
    // we passed its slot, and lose it at the next publication.
    let published = VersionReference(word: publishedWord.load(ordering: .sequentiallyConsistent))
    let words = slots.pinnedWords()
    let waiting = Set(pending.map(\.word))
    var pinned: [UInt64] = []
    for (word, version) in live {
      if words.contains(word) {
        pinned.append(version)
      } else if word != published.word && !waiting.contains(word) {
        VersionReference(word: word).free()
        live[word] = nil
      }
    }
    pinned.sort()
    facts.keep { live.values }
    return (pinned, published.fields.number)
  }

  /// Revokes snapshots without reads, oldest first and no more than necessary, until so many bytes can be freed; false when
  /// there was none to revoke.
  ///
  /// A page can be freed when the youngest version that needs it is revoked, unless that or an older one is being read.
  /// - Parameters:
  ///   - byteCount: how many bytes to free.
  ///   - pinned: the pinned versions, in order.
  private func revokeSnapshots(holding byteCount: Int, pinned: [UInt64], published: UInt64) -> Bool {
    let versions = syncMonitor.withLock { live }
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
        // All snapshots of one version are revoked together.
        if missing <= 0 { break }
        last = snapshot.version
        missing -= freedByteCounts[snapshot.version] ?? 0
      }
      if slots.snapshots.revoke(snapshot) { hasRevoked = true }
    }
    return hasRevoked
  }

  /// Revokes the snapshots of all versions, but those that are being read.
  func revokeAll() {
    let versions = syncMonitor.withLock { live }
    for snapshot in slots.snapshots.resting(below: .max, of: versions) { _ = slots.snapshots.revoke(snapshot) }
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

  /// Replaces all dropped trees by their single pages, because written pages are then retired one by one.
  func expandAllWholeTrees(_: borrowing Turn.Hold) { expandWholeTrees(pinned: [], published: 0, all: true) }

  /// Replaces dropped trees that nobody can reach any more by their single pages.
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
