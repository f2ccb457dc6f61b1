/// How a test makes a simulated disk fail: at a chosen call, at every call from one on, or when it is full.
///
/// Every way into the disk passes `perform`, which counts, traces, tells the observer, stops and fails in this order.
import DaybookEngine

/// One call as the disk saw it.
package struct SimulatedCall: Sendable, CustomStringConvertible {
  /// Counts the calls that change something, from 1; a call that only looks carries the number of the last change.
  package internal(set) var number = 0
  package let operation: DiskFailure.Operation
  package let path: String
  package let offset: Int?
  package let byteCount: Int?

  init(_ operation: DiskFailure.Operation, _ path: String, offset: Int? = nil, byteCount: Int? = nil) {
    self.operation = operation
    self.path = path
    self.offset = offset
    self.byteCount = byteCount
  }

  /// Whether the call changes what a crash leaves.
  package var isCounted: Bool { SimulatedCall.countedOperations.contains(operation) }

  package static let countedOperations: Set<DiskFailure.Operation> =
    [.create, .write, .sync, .truncate, .rename, .remove, .syncDirectory, .link, .makeDirectory]

  package var description: String {
    var text = "\(number) \(operation.rawValue) \(path)"
    if let offset { text += " at \(offset)" }
    if let byteCount { text += " for \(byteCount)" }
    return text
  }
}

/// A failure to come.
package struct SimulatedFault: Sendable {
  /// What happens to the pages that a failed sync did not write.
  package enum SyncLoss: Sendable {
    /// The cache keeps the new bytes and calls them clean; no later sync writes them. (ext4 and XFS do this.)
    case keepsPages
    /// The cache drops them and shows the old bytes.
    case dropsPages
  }

  package var operations: Set<DiskFailure.Operation>
  /// Which of the calls with these operations fails, counted from 1 when the fault is set.
  package var call: Int
  package var code: Int32
  /// Whether all such calls after it fail as well.
  package var repeats: Bool
  package var syncLoss: SyncLoss
  /// Whether a failing write leaves a part of its bytes behind, as a real one may.
  package var leavesPartOfWrite: Bool
  /// Only calls on this path; nil for all.
  package var path: String?
  /// Whether a failed sync is reported to each description that is open then, or only to the one that asked.
  package var tellsEveryDescription: Bool

  package init(
    _ operations: Set<DiskFailure.Operation> = SimulatedCall.countedOperations, call: Int,
    code: Int32 = ErrorNumber.inputOutput, repeats: Bool = false, syncLoss: SyncLoss = .keepsPages,
    leavesPartOfWrite: Bool = true, path: String? = nil, tellsEveryDescription: Bool = true
  ) {
    self.operations = operations
    self.call = call
    self.code = code
    self.repeats = repeats
    self.syncLoss = syncLoss
    self.leavesPartOfWrite = leavesPartOfWrite
    self.path = path
    self.tellsEveryDescription = tellsEveryDescription
  }
}

/// A write that the disk accepts and does not carry out. The call succeeds, and so does every later sync: the disk lies.
package struct SimulatedLie: Sendable {
  package enum Kind: Sendable {
    /// The bytes never arrive.
    case loses
    /// The bytes arrive so many sectors away, over what lies there.
    case misdirects(sectorCount: Int)
  }
  package var kind: Kind
  /// Which write lies, counted from 1 when the lie is set.
  package var write: Int
  package var path: String?

  package init(_ kind: Kind, write: Int, path: String? = nil) {
    self.kind = kind
    self.write = write
    self.path = path
  }
}

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

  /// Sets an observer that is called before each call that changes something, outside the disk's lock: it may make images of
  /// the disk. If it throws, the call throws that error and changes nothing.
  package func observe(_ observer: (@Sendable (SimulatedCall) throws(DiskFailure) -> Void)?) {
    state.withLock { $0.observer = observer }
  }

  /// Runs one call under the lock, or makes it fail, after `onFailure` has left behind what such a failure leaves.
  func perform<Result: Sendable>(
    _ call: SimulatedCall,
    onFailure: (inout State, FailureEffect) -> Void = { _, _ in },
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
        onFailure(&state, .stopped(tearsWrite: stop.tearsWrite))
        throw call.failure(code: ErrorNumber.inputOutput)
      }
      var striking: SimulatedFault?
      // Each fault counts its own calls, also those that another one makes fail.
      for index in state.faults.indices where state.faults[index].strikes(call) {
        striking = striking ?? state.faults[index].fault
      }
      if let striking {
        onFailure(&state, .failed(striking))
        throw call.failure(code: striking.code)
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
  func failure(code: Int32) -> DiskFailure {
    DiskFailure(operation, path: path, code: code, offset: offset, byteCount: byteCount)
  }
}
