import Synchronization

/// The background thread of a store: checkpoints, zeros ahead of the log, notes when writers are idle, syncs at `.relaxed`.
///
/// It sleeps until a commit requests something. For its work it takes the turn for short pieces, after writers that wait.
final class MaintenanceThread: @unchecked Sendable {
  struct Request: OptionSet {
    let rawValue: Int
    static let checkpoint = Request(rawValue: 1)
    static let zeros = Request(rawValue: 2)
    static let note = Request(rawValue: 4)
    static let sync = Request(rawValue: 8)
    static let stop = Request(rawValue: 16)
  }

  private let monitor = Monitor()
  private var requests: Request = []
  private var thread: BackgroundThread?
  /// Requests that are not being served yet, so that a commit can repeat one without a lock.
  private let asked = Atomic<Int>(0)
  static let idleNanoseconds: UInt64 = 50_000_000
  /// The same when someone reads, and may be waiting for the note.
  static let idleNanosecondsWithReaders: UInt64 = 10_000_000
  static let syncIntervalNanoseconds: UInt64 = 1_000_000_000
  static let syncByteCount = 16 << 20

  init() {}

  /// - Returns: false when the system has no thread to give.
  func start(_ store: Store) -> Bool {
    // The store stops the maintenance thread before it goes away, so the thread never outlives the store.
    let unretained = unsafe Unmanaged.passUnretained(store)
    thread = BackgroundThread(name: "daybook.maintenance") { [self] in
      // Safe: `Store.close` joins this thread, and runs at the latest in `Store.deinit`.
      unsafe unretained._withUnsafeGuaranteedRef { run($0) }
    }
    return thread != nil
  }

  @inline(__always)
  func ask(_ request: Request) {
    if asked.load(ordering: .relaxed) & request.rawValue == request.rawValue { return }
    askSlowly(request)
  }

  private func askSlowly(_ request: Request) {
    asked.bitwiseOr(request.rawValue, ordering: .relaxed)
    monitor.lock()
    requests.formUnion(request)
    monitor.signal()
    monitor.unlock()
  }

  func stop() {
    askSlowly(.stop)
    thread?.join()
  }

  private func run(_ store: Store) {
    var lastNumber: UInt64 = 0
    var lastWrite = SystemClock.monotonicNanoseconds()
    var lastSync = SystemClock.monotonicNanoseconds()
    while true {
      monitor.lock()
      while requests.isEmpty { monitor.wait() }
      if requests.isSubset(of: [.note, .sync]) {
        let hasNote = requests.contains(.note)
        _ = monitor.wait(
          nanoseconds: hasNote ? MaintenanceThread.idleNanosecondsWithReaders : MaintenanceThread.idleNanoseconds)
      }
      let now = requests
      requests = []
      monitor.unlock()
      if now.contains(.stop) { return }
      asked.store(0, ordering: .relaxed)
      if now.contains(.zeros) { store.prepareZeros() }
      if now.contains(.checkpoint) {
        store.tryCheckpoint()
        store.askForCompaction()
      }
      if now.contains(.sync) {
        let time = SystemClock.monotonicNanoseconds()
        let elapsed = SystemClock.nanoseconds(from: lastSync, to: time)
        let unsynced = store.log.unsyncedByteCount
        if elapsed >= MaintenanceThread.syncIntervalNanoseconds || unsynced >= MaintenanceThread.syncByteCount {
          lastSync = time
          try? store.syncWritten()
          // A note was waiting for this sync.
          ask(.note)
        } else {
          ask(.sync)
        }
      }
      if now.contains(.note) {
        let number = store.log.writtenNumber
        let time = SystemClock.monotonicNanoseconds()
        if number != lastNumber { lastWrite = time }
        let hasRested = number == lastNumber
        lastNumber = number
        let elapsed = SystemClock.nanoseconds(from: lastWrite, to: time)
        if hasRested, elapsed >= MaintenanceThread.idleNanoseconds || store.isReadByOthers {
          store.appendNote()
          store.askForCompaction()
        } else {
          ask(.note)
        }
      }
    }
  }
}
