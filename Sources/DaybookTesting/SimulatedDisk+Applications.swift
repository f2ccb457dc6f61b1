/// What an application's own tests do with a simulated disk: take its power, its room and its good will, and count.
///
///     losePower(atChange: 3)      1 ✓  2 ✓  3 ✗ everything fails from here on     then afterPowerLoss(…)
///     fail(.write, number: 3)     1 ✓  2 ✓  3 ✗  4 ✓  …
///     freeByteCount = 0           what needs more room than there is fails, until it is nil again
import DaybookEngine

extension SimulatedDisk {
  // MARK: Power loss

  /// What a power loss leaves of the changes that no sync has covered, where it is not left to chance.
  public enum Unsynced: Sendable {
    /// Only what was synced is there.
    case nothing
    /// All that was written is there.
    case everything
  }

  /// A disk as it may be found after the power failed now. This one stays as it is, and so do the databases on it.
  ///
  /// Of what no sync has covered any part may be there: a random choice of sectors, one of them torn within; sizes and names
  /// old or new; anything in space that was not written. What a sync has covered is there. The new disk has no faults, no limit
  /// and no locks, and its counts begin at zero.
  /// - Parameter seed: another one makes another choice; the same one, of the same disk, makes the same.
  /// - Complexity: copies the files.
  public func afterPowerLoss(seed: UInt64) -> SimulatedDisk { successor(crashed(seed: seed, policy: .random), 4 &* seed) }

  /// A disk as it is found after the power failed now, with nothing left to chance: the two ends between which
  /// ``afterPowerLoss(seed:)`` chooses.
  /// - Parameter unsynced: what is kept of the changes that no sync has covered.
  /// - Complexity: copies the files.
  public func afterPowerLoss(keeping unsynced: Unsynced) -> SimulatedDisk {
    switch unsynced {
    case .nothing: successor(crashed(seed: seed, policy: .none), 1)
    case .everything: successor(crashed(seed: seed, policy: .all), 2)
    }
  }

  /// The disk as the next process finds it when the present one is killed now. The system still has everything that was written,
  /// and what was not synced may be lost with the power later. This one stays as it is.
  /// - Complexity: copies the files.
  public func afterKill() -> SimulatedDisk { successor(killed(), 3) }

  /// Cuts the power in the midst of what follows: from that change on each call to the disk fails, so that databases on it throw
  /// `ioFailed` or `outcomeUnknown`, and nothing is changed any more. Where that change writes, a part of it may have been written.
  /// ``afterPowerLoss(seed:)`` then says what is left.
  ///
  ///     for change in 1... {
  ///       let disk = SimulatedDisk()
  ///       disk.losePower(atChange: change)
  ///       … what the application does, until it throws …
  ///       … open what is left on disk.afterPowerLoss(seed: 1), and look …
  ///       if !disk.hasLostPower { break }
  ///     }
  ///
  /// - Parameter change: which change from now on, counted from 1: see ``changeCount``.
  public func losePower(atChange change: Int = 1) {
    precondition(change >= 1, "changes are counted from 1")
    state.withLock {
      let (call, overflows) = $0.callCount.addingReportingOverflow(change)
      $0.stop = (overflows ? .max : call, tearsWrite: true)
    }
  }

  /// Whether ``losePower(atChange:)`` has come to its change.
  public var hasLostPower: Bool { isStopped }

  // MARK: Room

  /// How many bytes more fit on the disk, over all files; nil, as a new disk has it, for no limit. 0 makes it full, nil lifts the
  /// limit.
  ///
  /// Of a write that does not fit as much is written as fits, and the rest fails: databases throw `diskFull`. Bytes that overwrite
  /// others need no room; a database keeps some zeros behind its log, so a small save or a deletion may succeed on a full
  /// disk. What is removed makes room.
  public var freeByteCount: Int? {
    get { state.withLock { $0.freeByteCount } }
    set {
      precondition(newValue ?? 0 >= 0, "a disk has no less than no room")
      state.withLock { state in
        let used = state.usedByteCount
        state.capacityByteCount = newValue.map { used + min($0, .max - used) }
      }
    }
  }

  // MARK: Failing calls

  /// Kinds of calls to the disk.
  public enum CallKind: Sendable, CaseIterable {
    /// Bytes of a file are read. What a database has in its page cache is not read from the disk again: a test of failing reads
    /// opens it anew.
    case read
    /// Bytes of a file are written.
    case write
    /// Changes of a file, or of the names in a directory, are made durable.
    case sync
    /// Anything that changes what a power loss would leave: writes and syncs, and also files that are made, cut, renamed, linked
    /// or removed.
    case change

    var operations: Set<DiskFailure.Operation> {
      switch self {
      case .read: [.read]
      case .write: [.write]
      case .sync: [.sync, .syncDirectory]
      case .change: SimulatedCall.countedOperations
      }
    }
  }

  /// Makes a call fail with an input/output error (EIO), once or from there on for ever.
  ///
  /// A failing write may leave a part of its bytes in the file. A failing sync gives up some of what it should have made durable,
  /// as a real one does: the system calls it clean, and no later sync writes it. So a database that met one has to be opened
  /// again: it throws `outcomeUnknown` until then. Faults add up, and each counts its own calls.
  /// - Parameters:
  ///   - number: which call of the kind from now on, counted from 1.
  ///   - forever: whether all calls of the kind behind it fail as well, until ``stopFailing()``.
  public func fail(_ kind: CallKind, number: Int = 1, forever: Bool = false) {
    precondition(number >= 1, "calls are counted from 1")
    inject(SimulatedFault(kind.operations, call: number, repeats: forever))
  }

  /// Ends all that ``fail(_:number:forever:)`` has begun; what failing calls have left stays. A limit of room stays, too, and so
  /// does the loss of power.
  public func stopFailing() { removeFaults() }

  // MARK: Counts

  /// How many calls have read bytes of files, failed ones too.
  public var readCount: Int { state.withLock { $0.readCount } }
  /// How many calls have written bytes of files, failed ones too.
  public var writeCount: Int { state.withLock { $0.writeCount } }
  /// How many syncs there were, of files and of directories, failed ones too.
  public var syncCount: Int { state.withLock { $0.syncCount } }
  /// How many calls have changed what a power loss would leave, failed ones too: see ``CallKind/change``.
  public var changeCount: Int { callCount }

  // MARK: For databases

  /// A number for whatever has to differ from everything else on the disk.
  func nextIdentity() -> UInt64 { state.withLock { $0.identities.next() } }

  /// What is written after a crash has other identities than what is written after another one, or without any.
  private func successor(_ image: SimulatedDisk, _ way: UInt64) -> SimulatedDisk {
    var (identities, choice) = (state.withLock { $0.identities }, SeededGenerator(seed: way))
    let own = SeededGenerator(seed: identities.next() ^ choice.next())
    image.state.withLock { $0.identities = own }
    return image
  }
}

extension SimulatedDisk.State {
  var usedByteCount: Int { names.values.reduce(0) { $0 + $1.byteCount } }
}
