/// How a test makes a simulated disk fail: at a chosen call, at every call from one on, or when it is full.
///
/// Every way into the disk passes `perform`, which counts, traces, tells the observer, stops and fails in this order.
import DaybookEngine

struct ArmedLie: Sendable {
  let lie: SimulatedLie
  var passedCount = 0

  mutating func strikes(_ call: SimulatedCall) -> Bool {
    guard call.operation == .write, lie.path == nil || lie.path == call.path else { return false }
    passedCount += 1
    return passedCount == lie.write
  }
}

/// A fault and how many of its calls have passed.
struct ArmedFault: Sendable {
  let fault: SimulatedFault
  var passedCount = 0

  mutating func strikes(_ call: SimulatedCall) -> Bool {
    guard fault.operations.contains(call.operation), fault.path == nil || fault.path == call.path else { return false }
    passedCount += 1
    return passedCount == fault.call || (fault.repeats && passedCount > fault.call)
  }
}

/// What a file does before a call of its own fails.
enum FailureEffect {
  /// The disk was stopped; a write may have got part of the way.
  case stopped(tearsWrite: Bool)
  case failed(SimulatedFault)
}

extension SimulatedDisk {
  /// How many calls have changed something.
  package var callCount: Int { state.withLock { $0.callCount } }

  /// From this call on, everything throws and nothing changes. With `tearsWrite`, if the call itself is a write, it leaves a
  /// part of its bytes in the cache first, as a killed process may.
  package func stop(atCall call: Int, tearsWrite: Bool = false) {
    state.withLock { $0.stop = (call, tearsWrite) }
  }

  /// Stops now.
  package func stop() { state.withLock { $0.isStopped = true } }

  package var isStopped: Bool { state.withLock { $0.isStopped } }

  package func inject(_ fault: SimulatedFault) { state.withLock { $0.faults.append(ArmedFault(fault: fault)) } }

  package func inject(_ lie: SimulatedLie) { state.withLock { $0.lies.append(ArmedLie(lie: lie)) } }

  /// Removes faults and lies; what they did stays done.
  package func removeFaults() {
    state.withLock {
      $0.faults.removeAll()
      $0.lies.removeAll()
    }
  }

  /// Makes reads and writes take fewer bytes than asked for and be interrupted (EINTR), as the seed decides.
  package func cutTransfers() { state.withLock { $0.cutsTransfers = true } }

  /// Makes every sync succeed without doing anything. For testing tests: on such a disk, promises are broken.
  package func ignoreSyncs() { state.withLock { $0.ignoresSyncs = true } }

  /// Makes each call of an operation take this long, for tests with threads.
  package func delay(_ operation: DiskFailure.Operation, nanoseconds: UInt64) {
    state.withLock { $0.latency[operation] = nanoseconds }
  }

  /// Makes the disk full when all files together have this many bytes; nil for no limit.
  package func limit(toByteCount byteCount: Int?) { state.withLock { $0.capacityByteCount = byteCount } }

  /// Starts to record all calls, also those that change nothing.
  package func startTrace() { state.withLock { $0.trace = [] } }

  package var trace: [SimulatedCall] { state.withLock { $0.trace ?? [] } }

  /// From here on bytes that overwrite others need as much room as new ones, and free as much once they are written: a file
  /// system that copies on write, as Btrfs and ZFS do, writes them elsewhere first.
  package func copyOnWrite() { state.withLock { $0.copiesOnWrite = true } }

  /// Sets an observer that is called before each call that changes something, outside the disk's lock: it may make images of
  /// the disk. If it throws, the call throws that error and changes nothing.
  package func observe(_ observer: (@Sendable (SimulatedCall) throws(DiskFailure) -> Void)?) {
    state.withLock { $0.observer = observer }
  }

  /// Runs one call under the lock, or makes it fail, after `onFailure` has left what such a failure leaves, and said how many
  /// bytes that are.
  func perform<Result: Sendable>(
    _ call: SimulatedCall,
    onFailure: (inout State, FailureEffect) -> Int = { _, _ in 0 },
    _ body: (inout State) throws(DiskFailure) -> Result
  ) throws(DiskFailure) -> Result {
    if call.isCounted {
      let (observer, number) = state.withLock { ($0.observer, $0.callCount + 1) }
      if let observer {
        var announced = call
        announced.number = number
        try observer(announced)
      }
    }
    if let latency = state.withLock({ $0.latency[call.operation] }) { SystemClock.sleep(nanoseconds: latency) }
    return try state.withLock { (state) throws(DiskFailure) in
      if state.isStopped { throw call.failure(code: ErrorNumber.inputOutput) }
      state.count(call)
      if state.trace != nil {
        var traced = call
        traced.number = state.callCount
        state.trace?.append(traced)
      }
      if let stop = state.stop, call.isCounted, state.callCount >= stop.call {
        state.isStopped = true
        _ = onFailure(&state, .stopped(tearsWrite: stop.tearsWrite))
        throw call.failure(code: ErrorNumber.inputOutput)
      }
      var striking: SimulatedFault?
      // Each fault counts its own calls, also those that another one makes fail.
      for index in state.faults.indices where state.faults[index].strikes(call) {
        striking = striking ?? state.faults[index].fault
      }
      if let striking {
        let doneByteCount = onFailure(&state, .failed(striking))
        throw call.failure(code: striking.code, after: doneByteCount)
      }
      return try body(&state)
    }
  }
}

extension SimulatedDisk.State {
  mutating func count(_ call: SimulatedCall) {
    if call.isCounted { callCount += 1 }
    switch call.operation {
    case .read: readCount += 1
    case .write: writeCount += 1
    case .sync, .syncDirectory: syncCount += 1
    default: break
    }
  }
}

extension SimulatedCall {
  /// - Parameter doneByteCount: how much of a write is done: the failure is of what follows, as that of a real file.
  func failure(code: Int32, after doneByteCount: Int = 0) -> DiskFailure {
    DiskFailure(
      operation, path: path, code: code, offset: offset.map { $0 + doneByteCount },
      byteCount: byteCount.map { $0 - doneByteCount })
  }
}
