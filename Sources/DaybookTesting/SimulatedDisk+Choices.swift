/// Power loss without chance: everything that is pending on a disk, one by one, and images for any choice of it.
///
///     pending units     sectors of 512 bytes; pages of 4096 that were written whole count as one
///     pending sizes     files whose size changed since their last sync: the old size, the new one, or between
///     pending names     creations, renames and removals that no directory sync has covered
///
/// Units are numbered file by file, in the order of inode numbers, so that one number means the same on every machine.
import DaybookEngine

extension SimulatedDisk {
  /// Pages written whole arrive as a whole.
  package static let pageByteCount = 4096

  package var pendingChanges: PendingChanges {
    state.withLock { state in
      var pending = PendingChanges(nameCount: state.pendingChanges.count)
      for content in state.reachableContents {
        pending.unitCount += content.pendingRuns(pageByteCount: SimulatedDisk.pageByteCount).count
        if content.byteCount != content.durableByteCount { pending.hasSizes = true }
      }
      return pending
    }
  }

  /// The disk as this choice leaves it. For many choices, keep the `CrashMoment`.
  package func crashed(_ choice: CrashChoice) -> SimulatedDisk { CrashMoment(self).image(of: choice) }
}

extension SimulatedDisk.State {
  /// All files that a name leads to, or may lead to after a crash, in the order of their inode numbers.
  var reachableContents: [SimulatedContent] {
    var contents: [UInt64: SimulatedContent] = [:]
    for content in names.values { contents[content.identity.inode] = content }
    for content in durableNames.values { contents[content.identity.inode] = content }
    for change in pendingChanges {
      for case (_, let content?) in change.names { contents[content.identity.inode] = content }
    }
    return contents.values.sorted { $0.identity.inode < $1.identity.inode }
  }
}
