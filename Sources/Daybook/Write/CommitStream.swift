import DaybookEngine

/// What `Database.commits` hands out: one queue of notices.
///
/// A slow consumer keeps at most 1,024 notices, with not many more than 200,000 names of records in them; what comes then is
/// counted in one `.missed`.
final class CommitStream: CommitWatcher {
  private static let noticeLimit = 1024
  private static let recordLimit = 200_000

  private struct State: MailboxState {
    var notices: [CommitNotice] = []
    var recordCount = 0
    var missed: (from: UInt64, to: UInt64)?
    var isFinished = false

    var isReady: Bool { !notices.isEmpty || missed != nil || isFinished }
  }

  private let mailbox = Mailbox(State())
  private let excluded: Origin?

  private init(excluding origin: Origin?) { excluded = origin }

  /// A stream of the commits from now on.
  static func make(of hub: CommitHub, excluding origin: Origin?) -> AsyncStream<CommitNotice> {
    let stream = CommitStream(excluding: origin)
    guard let watch = hub.add(stream, .names) else { return AsyncStream { nil } }
    // The closure keeps the watch; with the stream it ends.
    return AsyncStream {
      await withTaskCancellationHandler {
        await withExtendedLifetime(watch) { stream }.next()
      } onCancel: {
        stream.finish()
      }
    }
  }

  func tell(_ notice: WatchNotice) {
    switch notice {
    case .commit(let changes):
      if excluded == nil || changes.origin != excluded { deliver(.commit(changes.notice), changes.sequence...changes.sequence) }
    case .untold(let sequence, let origin, _):
      if excluded == nil || origin != excluded { miss(sequence...sequence) }
    case .others(let others):
      // A compacted file has the commits that were known. Another history has commits of its own after the last common one, or
      // none.
      if others.lastCommon < others.known {
        miss(min(others.lastCommon + 1, others.last)...others.last)
      } else if others.last > others.known {
        miss(others.known + 1...others.last)
      }
    }
  }

  /// Commits of which only the numbers are known.
  private func miss(_ sequences: ClosedRange<UInt64>) {
    deliver(.missed(from: sequences.lowerBound, to: sequences.upperBound), sequences)
  }

  /// Keeps a notice for the loops; after a `.missed`, or when too many are kept, it is counted as missed.
  private func deliver(_ notice: CommitNotice, _ sequences: ClosedRange<UInt64>) {
    mailbox.withState { state in
      if state.isFinished { return }
      if let missed = state.missed {
        // Numbers go back where an older file has taken the name.
        state.missed = (min(missed.from, sequences.lowerBound), sequences.upperBound)
      } else if state.notices.count >= CommitStream.noticeLimit || state.recordCount >= CommitStream.recordLimit {
        state.missed = (sequences.lowerBound, sequences.upperBound)
      } else {
        state.notices.append(notice)
        state.recordCount += notice.recordCount
      }
    }
  }

  private func next() async -> CommitNotice? {
    while true {
      if let taken = mailbox.withState(Self.take) { return taken }
      await mailbox.wait()
    }
  }

  /// The next notice; nil within where the stream has ended, nil outside where nothing has come yet.
  private static func take(from state: inout State) -> CommitNotice?? {
    if !state.notices.isEmpty {
      let notice = state.notices.removeFirst()
      state.recordCount -= notice.recordCount
      return notice
    }
    if let missed = state.missed {
      state.missed = nil
      return .some(.missed(from: missed.from, to: missed.to))
    }
    return state.isFinished ? .some(nil) : nil
  }

  func finish() { mailbox.withState { $0.isFinished = true } }
}

extension CommitNotice {
  fileprivate var recordCount: Int { commit.map { $0.saved.count + $0.deleted.count } ?? 0 }
}
