import DaybookTesting
import Testing

@testable import DaybookEngine

// Files with sound checksums and contents that no store writes: refused or answered, never a trap, an endless walk, or memory by
// a length that the file claims.

private let path = "/d/book"

@Suite("Invented files")
struct InventedFileTests {
  @Test("checkpoints, numbers and lengths that no store writes are refused without a trap")
  func inventions() throws {
    let specimen = try Specimen.twoCheckpoints()
    let newest = try #require(try specimen.frames(.checkpoint).last)
    let fields = [48, 56, 64, 72, 80, 88, 96, 104, 112, 120]
    for field in fields {
      for value in [0, 1, 4095, 4096, 4100, 1 << 31, 1 << 60, 1 << 62, 1 << 63, UInt64.max - 95, UInt64.max] as [UInt64] {
        var bytes = specimen.bytes
        let start = Int(newest.payloadOffset) + field
        for index in 0..<8 { bytes[start + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index)) }
        bytes = try resealed(bytes, newest) { _ in }
        _ = try? specimen.outcome(of: bytes)
        _ = try? specimen.outcome(of: bytes, readOnly: true)
      }
    }
  }

  @Test("headers that no store writes are refused without a trap or an endless walk")
  func inventedHeaders() throws {
    let specimen = try Specimen.twoCheckpoints()
    let salt = try specimen.bytes.withView { (view: ByteView) throws -> UInt64 in try FileHeader(view).salt }
    for frame in try specimen.frames.suffix(6) {
      for field in [4, 5, 24, 32, 40, 48, 56, 64, 72, 80] {
        for value in [
          0, 1, 4, 5, 7, 4096, 1 << 60, 1 << 63, UInt64.max &- frame.offset &- 95, UInt64.max - 103, UInt64.max - 1, UInt64.max,
        ] as [UInt64] {
          var bytes = specimen.bytes
          let start = Int(frame.offset)
          for index in 0..<8 where field > 5 || index == 0 {
            bytes[start + field + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index))
          }
          let sum = bytes.withView { (view: ByteView) -> UInt64 in XXH3.hash(view.slice(start..<start + 88), seed: salt) }
          for index in 0..<8 { bytes[start + 88 + index] = UInt8(truncatingIfNeeded: sum >> UInt64(8 * index)) }
          _ = try? specimen.outcome(of: bytes)
          _ = try? specimen.outcome(of: bytes, readOnly: true)
        }
      }
    }
  }

  /// The end of the file as if another had written a note there that claims to prove more than there is.
  private func noteThatProves(_ durableThrough: UInt64, behind bytes: [UInt8]) throws -> [UInt8] {
    let last = try #require(try frames(of: bytes).last)
    var bytes = Array(bytes[..<Int(last.next)])
    let note = bytes.count
    bytes += bytes[Int(last.offset)..<Int(last.offset) + FrameHeader.byteCount]
    func set(_ number: UInt64, at field: Int) {
      for index in 0..<8 { bytes[note + field + index] = UInt8(truncatingIfNeeded: number >> UInt64(8 * index)) }
    }
    bytes[note + 4] = FrameHeader.Kind.note.rawValue
    set(last.number + 1, at: 24)
    set(durableThrough, at: 48)
    set(0, at: 72)
    return Forgery.sealed(bytes)
  }

  @Test("a frame that proves itself, or what comes behind it, is none", arguments: [UInt64?.none, 1 << 60, .max - 1, .max])
  func provesTooMuch(number: UInt64?) throws {
    var options = StoreOptions.small()
    options.locksPerTransaction = true
    options.lockTimeoutNanoseconds = 100_000_000
    let disk = SimulatedDisk(seed: 7, maximumFileByteCount: 1 << 20)
    let store = try KeyValueStore(path, disk: disk, options: options)
    try store.put("one", [1])
    let sound = try #require(disk.bytes(of: path))
    let last = try #require(try frames(of: sound).last)
    let forged = try noteThatProves(number ?? last.number + 1, behind: sound)
    #expect(try frames(of: forged).count == frames(of: sound).count)
    // While it is open, and nobody has the lock.
    let file = try disk.open(path, .readWrite)
    try forged.withView { (view) throws(DiskFailure) in try file.write(view, at: 0) }
    file.close()
    // It is repaired, or refused.
    _ = try? store.put("two", [2])
    #expect(try store.value("one") == [1])
    try? store.close()
    // Nobody keeps the lock because of it.
    disk.install(forged, at: path)
    let first = try KeyValueStore(path, disk: disk, options: options)
    let second = try KeyValueStore(path, disk: disk.killed(), options: options)
    #expect(try second.value("one") == [1])
    #expect(first.store.withTurnForBackground { hold in first.store.releaseFileLock(hold) })
    try first.put("three", [3])
    try first.close()
    try second.close()
  }

  @Test(
    "what is written behind a frame that claims to be longer than the file stays", arguments: [12_000, 17_000, 40_000, 90_000])
  func appendedInsideClaimedLength(byteCount: Int) throws {
    let specimen = try Specimen.twoCheckpoints()
    let checkpoint = try #require(specimen.frames.last { $0.kind == .checkpoint })
    let salt = try specimen.bytes.withView { (view: ByteView) throws -> UInt64 in try FileHeader(view).salt }
    var bytes = specimen.bytes
    func set(_ number: UInt64, at field: Int) {
      for index in 0..<8 {
        bytes[Int(checkpoint.offset) + field + index] = UInt8(truncatingIfNeeded: number >> UInt64(8 * index))
      }
    }
    set(UInt64(byteCount), at: 72)
    let start = Int(checkpoint.offset)
    set(bytes.withView { XXH3.hash($0.slice(start..<start + 88), seed: salt) }, at: 88)
    let disk = specimen.disk(bytes)
    guard let first = try? specimen.open(disk) else { return }
    try first.put("late", [1])
    for number in 0..<100 { try first.put("filler\(number)", filler(number, 1000)) }
    try first.checkThoroughly()
    try first.close()
    let second = try specimen.open(disk)
    #expect(try second.value("late") == [1])
    try second.checkThoroughly()
  }

  @Test("places beyond the file, as a forged tree names them, are an error before anything is allocated for them")
  func placesOfNoFile() throws {
    let specimen = try Specimen.threeCommits(closing: true)
    let store = try specimen.open(specimen.disk(specimen.bytes)).store
    let pin = try store.beginRead()
    defer { store.endRead(pin) }
    let transaction = try store.beginTransaction()
    defer { store.abandon(transaction) }
    for offset in [0, pin.end, pin.end + 8, 1 << 40, 1 << 63, UInt64.max - 15, .max] {
      for byteCount in [0, UInt32(Operation.headerByteCount - 1), 1 << 20, UInt32.max] {
        let place = Place(offset: offset, byteCount: byteCount)
        #expect(throws: StoreError.self) { try Store.checkPlace(place, end: pin.end) }
        #expect(throws: StoreError.self) { _ = try transaction.operation(at: place) }
        #expect(throws: StoreError.self) { _ = try store.verifiedOperation(at: place, end: pin.end) }
      }
    }
  }

  @Test("a short, empty or foreign file is an error, not a new database")
  func notADatabase() throws {
    let specimen = try Specimen.threeCommits(closing: true)
    for bytes in [[], [1], filler(1, 4096), [UInt8](repeating: 0, count: 9000), Array(specimen.bytes[..<4095])] {
      let disk = specimen.disk(bytes)
      #expect(thrownCase { _ = try specimen.open(disk) } == "header")
      #expect(disk.bytes(of: path) == bytes)
    }
  }
}
