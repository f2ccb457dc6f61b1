/// The pages that a checkpoint writes: their version, pinned, and which of them already have a place in the file.
///
///     pin ─► next, into a frame; next, into a frame … ─► exchanged: the file has them, their memory is retired ─► unpin
///                                                    └─► given up: each page that is not exchanged forgets its place ─► unpin
///
/// A checkpoint that fails exchanges those pages that got into the file (`Store.writeVersion`), so that the next need not write
/// them again; the others are as they were.
///
/// Only this value holds addresses of pages that others may free, and it pins the version that keeps them. However it ends, it
/// drops the addresses first and then the pin, so a failed checkpoint leaves no address to the next.
///
/// Belongs to the one checkpoint under way, or to a transaction that spills its own pages, which only that transaction frees.
struct CheckpointPages: ~Copyable {
  private let slots: ReaderSlots?
  private let slot: Int
  private var walk: CheckpointWalk
  /// Pages that have a place in the file, children first.
  private(set) var written: [UInt64] = []

  /// The pages of a version that a slot pins. The slot is released with this value.
  init(of version: Version, pinnedBy slot: Int, in slots: ReaderSlots) {
    walk = CheckpointWalk(roots: version.roots.array)
    self.slot = slot
    if isMutant("forget-the-pin") {
      slots.release(slot)
      self.slots = nil
    } else {
      self.slots = slots
    }
  }

  /// The pages of a transaction, for itself.
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

  /// The page that was returned last has its place in the file.
  mutating func didWrite(_ reference: UInt64) { written.append(reference) }

  /// Pages from `index` on did not get into the file. The walk has passed them, so the checkpoint cannot continue.
  mutating func takeBack(from index: Int) {
    CheckpointPages.clearPlaces(of: written[index...])
    written.removeSubrange(index...)
  }

  /// The trees now refer to the places of these pages in the file.
  mutating func exchanged() { written.removeAll() }

  private static func clearPlaces(of references: ArraySlice<UInt64>) {
    for reference in references { DirtyPage(reference).fileOffset = 0 }
  }
}
