import Synchronization

/// Replay: the trees that an open starts with, from a checkpoint and the commits behind it.
extension Store {
  /// Builds the trees: from the plan's checkpoint if its pages are valid, else from an older one, else from the log alone.
  func load(
    _ first: RecoveryPlan, log whole: LogReader, isBesideWriter: Bool = false
  ) throws(StoreError) -> RecoveryPlan {
    var plan = first
    // A reader that was alone admits writers before it replays; what they append is not part of its plan.
    var log = whole
    if options.isReadOnly, !isBesideWriter {
      log = try Store.onDisk { () throws(DiskFailure) in
        try Store.log(of: file, header, byteCount: Int(min(first.end.offset, whole.end)), options)
      }
    }
    if plan.tellsOfDamagedPage && !isBesideWriter {
      let rebuilt = try Store.onDisk { () throws(DiskFailure) in try log.planFromStart() }
      // For a reader, trees with a damaged page are better than a log that stops at a damaged commit.
      if case .corrupt = rebuilt.ending, options.isReadOnly {} else { plan = rebuilt }
    }
    func look(_ body: () throws(DiskFailure) -> RecoveryPlan) throws(StoreError) -> RecoveryPlan {
      try Store.onDisk { () throws(DiskFailure) in try isBesideWriter ? RecoveryPlan.besideWriter(body) : body() }
    }
    while true {
      // How the log ends behind that was found before.
      if options.isReadOnly, plan.ending == .clean { plan.ending = first.ending }
      do {
        try replay(plan, log: log)
        break
      } catch .page where plan.basis == .newestCheckpoint {
        plan = try look { () throws(DiskFailure) in try log.plan(skipping: 1) }
      } catch .page where plan.basis == .olderCheckpoint {
        plan = try look { () throws(DiskFailure) in try log.planFromStart() }
      }
      if isBesideWriter { try Store.onDisk { () throws(DiskFailure) in try plan.cut(to: log) } }
      source.firstFault.withLock { $0 = nil }
    }
    withTurnForBackground { hold in self.log.begin(at: plan, hold) }
    replayStart = plan.start
    recovery.wasClosed = plan.isClosed || plan.last == nil && plan.ending == .clean
    recovery.basis =
      switch plan.basis {
      case .newestCheckpoint: .newestCheckpoint
      case .olderCheckpoint: .olderCheckpoint
      case .log: .log
      }
    recovery.replayedByteCount = plan.end.commitOffset - plan.start.commitOffset
    recovery.replayedCommitCount = plan.lastSequence - plan.start.sequence
    if plan.ending != .clean {
      let end = plan.end.offset
      recovery.discardedByteCount = whole.contentEnd(from: end) - min(end, whole.end)
    }
    try Store.onDisk { () throws(DiskFailure) in try whole.checkRead() }
    if case .corrupt(let lost) = plan.ending {
      recovery.lostSequences = lost
      recovery.discardedByteCount = 0
    }
    if first.missingByteCount > 0 {
      recovery.missingByteCount = first.missingByteCount
      recovery.discardedByteCount = 0
    }
    return plan
  }

  /// Applies the commits of a plan to its checkpoint's trees, in one edit that nobody sees before it ends.
  /// - Parameter sequence: later commits are left out.
  func replay(_ plan: RecoveryPlan, log: LogReader, through sequence: UInt64 = .max) throws(StoreError) {
    try Store.onDisk(call: try admit(Int(plan.readableEnd)))
    let transaction = reusableTransaction
    transaction.prepareReplay(plan)
    do throws(LogFault) {
      // What the checkpoint's trees have was repeated after it.
      try applier.flush(transaction)
      checkpointedDeclarationCount = applier.declarationCount(in: transaction.roots)
      repeated = (checkpointedDeclarationCount, plan.start.offset)
      try log.forEachCommit(of: plan, through: sequence) { (commit, operations) throws(LogFault) in
        try transaction.replay(operations, sequence: commit.sequence)
        // What a close has repeated need not come again: another copy would cost each short session a sync (row: use-session).
        if commit.sequence == plan.declarationsThrough {
          repeated.count = applier.declarationCount(in: transaction.roots)
        }
      }
      try applier.finishReplay(transaction)
    } catch {
      applier.reset()
      transaction.rollBackAll()
      throw StoreError(error)
    }
    keepFeatures(of: transaction)
    facts = applier.facts(transaction)
    let balance = editor.pageBalance
    withTurnForBackground { hold in versions.retire(editor.finishEdit(), newest: 2, hold) }
    head = Version(
      number: 2, position: plan.end, end: plan.readableEnd, frameNumber: plan.repairedThrough,
      pageCount: plan.checkpoint?.pageCount ?? 0, pageBalance: balance,
      liveByteCount: transaction.liveByteCount, roots: transaction.roots)
  }
}

extension StoreTransaction {
  func prepareReplay(_ plan: RecoveryPlan) {
    roots = RootSet(plan.checkpoint?.roots ?? [])
    liveByteCount = plan.checkpoint?.liveByteCount ?? 0
    facts = nil
    editor.version = 2
    readsOnlyFile(upTo: plan.readableEnd)
    startReplay()
  }
}
