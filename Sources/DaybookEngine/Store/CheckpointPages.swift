/// The pages that a checkpoint writes: their version, pinned, and which of them have a place in the file by now.
///
///     pin ─► next, into a frame; next, into a frame … ─► exchanged: the file has them, their memory is retired ─► unpin
///                                                    └─► given up: each forgets its place                     ─► unpin
///
/// Addresses of pages that others may free stand nowhere but here, and this value pins what keeps them. However it ends,
/// it lets go of the addresses first and then of the pin: nothing of a checkpoint that failed is left for the next.
///
/// Belongs to the one checkpoint that is under way, or to the one transaction that spills its own pages, which nobody frees
/// but itself.
struct CheckpointPages: ~Copyable {
  private let slots: ReaderSlots?
  private let slot: Int
  private var walk: CheckpointWalk
  /// Pages that have their place in the file, children first.
  private(set) var written: [UInt64] = []

  /// Those of a version that a slot pins. The slot is given back with this value.
  init(of version: StateRecord, pinnedBy slot: Int, in slots: ReaderSlots) {
    walk = CheckpointWalk(roots: version.roots.array)
    self.slot = slot
    if isMutant("forget-the-pin") {
      slots.release(slot)
      self.slots = nil
    } else {
      self.slots = slots
    }
  }

  /// Those of a transaction, for itself.
  init(own roots: RootSet) {
    walk = CheckpointWalk(roots: roots.array)
    slots = nil
    slot = 0
  }

  deinit {
    CheckpointPages.clearPlaces(of: written[...])
    slots?.release(slot)
  }

  /// The next page to write; nil when all are written. The caller writes it and calls `didWrite` before asking again.
  mutating func next() -> UInt64? { walk.next() }

  /// The page that was handed out last has its place.
  mutating func didWrite(_ reference: UInt64) { written.append(reference) }

  /// Pages from there on did not get into the file. The walk has passed them: there is no going on after that.
  mutating func takeBack(from index: Int) {
    CheckpointPages.clearPlaces(of: written[index...])
    written.removeSubrange(index...)
  }

  /// The trees refer to the places of these pages now.
  mutating func exchanged() { written.removeAll() }

  private static func clearPlaces(of references: ArraySlice<UInt64>) {
    for reference in references { DirtyPage(reference).fileOffset = 0 }
  }
}
