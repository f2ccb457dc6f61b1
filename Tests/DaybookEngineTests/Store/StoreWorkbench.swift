import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// A store of small budgets on a simulated disk, and the dictionary that says what it must hold. Beside them: the frames
// of a file, as bytes to damage.

typealias Contents = [String: [UInt8]]

/// A store did something else than it promised.
struct Deviation: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// What a body throws to have its transaction or savepoint undone.
struct ChangedMyMind: Error {}

extension StoreOptions {
  /// Everything happens early and within the call that makes it necessary.
  static func small(seed: UInt64 = 1) -> StoreOptions {
    var options = StoreOptions()
    options.hasBackgroundThread = false
    options.lockTimeoutNanoseconds = 0
    options.minimumLogBudgetByteCount = 16 << 10
    options.maximumLogBudgetByteCount = 16 << 10
    options.closeCheckpointByteCount = 4 << 10
    options.partByteCount = 1200
    // Tests count bytes; those of the reserve set their own.
    options.reserveByteCount = 0
    let generator = Locked(SeededGenerator(seed: seed))
    options.random = { generator.withLock { $0.next() } }
    return options
  }

  /// No checkpoint, neither between commits nor at the end.
  static func withoutCheckpoints(seed: UInt64 = 1) -> StoreOptions {
    var options = small(seed: seed)
    options.minimumLogBudgetByteCount = 1 << 30
    options.maximumLogBudgetByteCount = 1 << 30
    options.closeCheckpointByteCount = 1 << 30
    return options
  }

  /// No checkpoint, and the file mapped also when the suite runs on files that are not.
  static func mapped(seed: UInt64 = 1) -> StoreOptions {
    var options = withoutCheckpoints(seed: seed)
    options.access = .mapped
    return options
  }

  /// The file read through a page cache, also when the suite runs on mapped files.
  func buffered(pageCacheByteCount: Int = 256 << 10) -> StoreOptions {
    var options = self
    options.access = .buffered
    options.pageCacheByteCount = pageCacheByteCount
    return options
  }

  var readOnly: StoreOptions {
    var options = self
    options.isReadOnly = true
    return options
  }
}

extension KeyValueTransaction {
  func put(_ key: String, _ value: [UInt8]) throws {
    try [UInt8](key.utf8).withView { (key: ByteView) throws -> Void in
      try value.withView { (value: ByteView) throws -> Void in try put(key, value) }
    }
  }

  func delete(_ key: String) throws {
    try [UInt8](key.utf8).withView { (key: ByteView) throws -> Void in try delete(key) }
  }

  func value(_ key: String) throws -> [UInt8]? {
    try [UInt8](key.utf8).withView { (key: ByteView) throws -> [UInt8]? in try get(key) }
  }
}

extension KeyValueStore {
  /// What a pin on the current store has under a key.
  func get(_ key: ByteView, _ pin: Store.Pin, into buffer: ByteBuffer) throws(StoreError) -> ByteView? {
    try KeyValueStore.get(key, store, pin, into: buffer)
  }

  func put(_ key: String, _ value: [UInt8]) throws { try write { try $0.put(key, value) } }

  func value(_ key: String) throws -> [UInt8]? {
    let pin = try store.beginRead()
    defer { store.endRead(pin) }
    return try value(key, pin)
  }

  func value(_ key: String, _ pin: Store.Pin) throws -> [UInt8]? {
    let buffer = ByteBuffer()
    return try [UInt8](key.utf8).withView { (key: ByteView) throws -> [UInt8]? in
      try get(key, pin, into: buffer)?.array
    }
  }

  func contents() throws -> Contents { try snapshot().contents }

  /// Everything in one version, and the commit that it ends with.
  func snapshot() throws -> (sequence: UInt64, contents: Contents) {
    let pin = try store.beginRead()
    defer { store.endRead(pin) }
    return (pin.sequence, try contents(pin))
  }

  func contents(_ pin: Store.Pin) throws -> Contents {
    var contents: Contents = [:]
    var cursor = pin.reader.cursor(in: pin.root(0))
    let key = ByteBuffer()
    let buffer = ByteBuffer()
    var last: [UInt8]?
    var isValid = try cursor.first()
    while isValid {
      cursor.key(into: key)
      let bytes = key.view.array
      if let last, !last.lexicographicallyPrecedes(bytes) { throw Deviation("keys are not in order") }
      last = bytes
      contents[String(decoding: bytes, as: UTF8.self)] = try get(key.view, pin, into: buffer)?.array
      isValid = try cursor.next()
    }
    if UInt64(contents.count) != pin.root(0).count {
      throw Deviation("the root counts \(pin.root(0).count) records, there are \(contents.count)")
    }
    return contents
  }

  /// Looks at every frame and page, and compares the trees with trees made from the log alone.
  func checkThoroughly() throws {
    let pin = try store.beginRead()
    defer { store.endRead(pin) }
    let check = try store.check(pin)
    if !check.isClean { throw Deviation("the check finds: \(check.findings)") }
    if check.keyCount != pin.root(0).count { throw Deviation("the check counts \(check.keyCount) keys") }
    var difference: String?
    try store.rebuiltRoots(for: pin, applier: KeyValueApplier()) { (roots, reader) throws(StoreError) in
      do throws(PageFault) {
        difference = try Store.firstDifference(pin.root(0), pin.reader, roots[0], reader)
      } catch { throw .page(error) }
    }
    if let difference { throw Deviation("rebuilt from the log: \(difference)") }
  }
}

/// The frames of a file, up to the first place where none holds.
func frames(of bytes: [UInt8]) throws -> [FrameHeader] {
  try bytes.withView { (view: ByteView) throws -> [FrameHeader] in
    let log = LogReader(view, salt: try FileHeader(view).salt)
    var headers: [FrameHeader] = []
    var offset = UInt64(FileHeader.byteCount)
    while let header = log.header(at: offset) {
      headers.append(header)
      offset = header.next
    }
    return headers
  }
}

/// Seals a frame anew after a test has changed its payload, or its header through `change`.
func resealed(_ bytes: [UInt8], _ header: FrameHeader, _ change: (inout FrameHeader) -> Void) throws -> [UInt8] {
  let salt = try bytes.withView { (view: ByteView) throws -> UInt64 in try FileHeader(view).salt }
  let frame = ByteBuffer()
  frame.append([UInt8](bytes[Int(header.offset)..<Int(header.end)]))
  var header = header
  change(&header)
  header.seal(into: frame, salt: salt)
  var result = bytes
  result.replaceSubrange(Int(header.offset)..<Int(header.end), with: frame.view.array)
  return result
}

/// The seeds of a test, or those that DAYBOOK_SEEDS="100-399" asks for: the nightly run, or one seed that failed.
func testSeeds(_ usual: ClosedRange<UInt64>) -> ClosedRange<UInt64> {
  let bounds = (ProcessInfo.processInfo.environment["DAYBOOK_SEEDS"] ?? "").split(separator: "-").compactMap { UInt64($0) }
  guard let first = bounds.first, let last = bounds.last, first <= last else { return usual }
  return first...last
}

/// Some bytes that only this number makes. Eight at a time: a random number for each byte was a large part of the tests' time.
func filler(_ number: Int, _ byteCount: Int) -> [UInt8] {
  var generator = SeededGenerator(seed: UInt64(truncatingIfNeeded: number))
  var bytes: [UInt8] = []
  bytes.reserveCapacity(byteCount + 8)
  while bytes.count < byteCount {
    unsafe withUnsafeBytes(of: generator.next().littleEndian) { unsafe bytes.append(contentsOf: $0) }
  }
  bytes.removeLast(bytes.count - byteCount)
  return bytes
}

/// What kind of error a call throws, without the facts; nil when it throws none.
func thrownCase(_ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch let error as StoreError {
    switch error {
    case .disk: return "disk"
    case .header: return "header"
    case .page: return "page"
    case .log: return "log"
    case .operation: return "operation"
    case .corrupt: return "corrupt"
    case .laterFeatures: return "laterFeatures"
    case .cutShort: return "cutShort"
    case .locked: return "locked"
    case .alreadyOpen: return "alreadyOpen"
    case .readOnly: return "readOnly"
    case .closed: return "closed"
    case .superseded: return "superseded"
    case .outcomeUnknown: return "outcomeUnknown"
    case .tooLarge: return "tooLarge"
    case .snapshotTooOld: return "snapshotTooOld"
    case .tooManySnapshots: return "tooManySnapshots"
    case .forked: return "forked"
    case .refused: return "refused"
    case .withinTransaction: return "withinTransaction"
    case .hardLinked: return "hardLinked"
    case .ownerWouldChange: return "ownerWouldChange"
    case .numbersUsedUp: return "numbersUsedUp"
    case .replaced: return "replaced"
    case .suspended: return "suspended"
    case .moved: return "moved"
    }
  } catch let error as PageFault {
    return error.failure == nil ? "page" : "disk"
  } catch { return "\(error)" }
}
