import DaybookEngine
import Synchronization

/// Finds the row of a key among many: a table of the keys' hashes, made once for a shape and shared by all bodies that have it.
///
///     offset  size  field
///          0     8  by how many bits a hash is shifted
///          8   2×s  slots, a power of two, at least two for each key: number of the row + 1; 0 empty
///              4×n  where each row's key begins in the key heap
///          2×(n+1)  number of the row + 1 that was asked for after each row, and first; 0 not known yet
///
/// A program asks for the fields of all records of a shape in the same order. So a body remembers what it was asked for last, the index
/// what came next when it was asked for the first time, and that row is looked at before anything is hashed (row: wide-fetch). Another
/// order is only slower by that look.
///
/// A body of few fields is searched from the front, which is as quick and needs nothing. With two hundred fields that was
/// three quarters of reading them all (row: use-fetch-200-fields). A body that is no spelled shape, mostly a long one, has nothing
/// that could keep an index for it: from a thousand fields on it gets one of its own when it is asked for fields (`LateFieldIndex`).
///
/// Always true: a body that has an index has the rows and keys that it was made of, in their order.
@safe final class FieldIndex: @unchecked Sendable {
  /// A body with fewer fields has none.
  static let leastFieldCount = 32
  /// A body without a shape has none with fewer fields: making one takes as long as some ten searches.
  static let leastSpelledFieldCount = 1024
  /// Keys of which one finds so many slots taken are of a forged file: with each of them the next takes longer.
  private static let mostProbes = 64
  private static let headerByteCount = 8

  private let base: UnsafeMutableRawPointer
  /// All rows are in it.
  private let isWhole: Bool

  /// The index of a body of its own; nil where keys meet too often.
  convenience init?(of view: ByteView, _ layout: RecordBody.Layout) {
    self.init(view.slice(layout.fieldsStart..<layout.valuesStart), mostProbes: FieldIndex.mostProbes)
    if !isWhole { return nil }
  }

  /// - Parameters:
  ///   - table: field count, rows and keys, as the fields of a spelled body begin with them.
  ///   - mostProbes: where a key finds more slots taken, it ends.
  init(_ table: ByteView, mostProbes: Int = .max) {
    let count = Int(table.uint16(at: 0))
    var bits = 1
    while 1 << bits < 2 * count { bits += 1 }
    let slotByteCount = 2 << bits
    let byteCount = FieldIndex.headerByteCount + slotByteCount + 4 * count + 2 * (count + 1)
    unsafe base = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 8)
    // Safe: everything below lies within the bytes: at most half of the slots are taken, so each search ends.
    unsafe RawMemory.zero(base, byteCount: byteCount)
    let shift = UInt64(64 - bits)
    unsafe base.storeBytes(of: shift, as: UInt64.self)
    let slots = unsafe base + FieldIndex.headerByteCount
    let starts = unsafe slots + slotByteCount
    let heap = 2 + RecordBody.tableStride * count
    var start = 0
    var isWhole = true
    for row in 0..<count {
      let end = start + Int(table[2 + RecordBody.tableStride * row + 1])
      unsafe starts.storeBytes(of: UInt32(truncatingIfNeeded: start), toByteOffset: 4 * row, as: UInt32.self)
      var slot = Int(FieldIndex.hash(table.slice(heap + start..<heap + end)) &>> shift)
      var probes = 0
      while unsafe slots.load(fromByteOffset: 2 * slot, as: UInt16.self) != 0 {
        slot = (slot + 1) & (1 << bits - 1)
        probes += 1
      }
      if probes > mostProbes {
        isWhole = false
        break
      }
      unsafe slots.storeBytes(of: UInt16(truncatingIfNeeded: row + 1), toByteOffset: 2 * slot, as: UInt16.self)
      start = end
    }
    self.isWhole = isWhole
  }

  deinit { unsafe base.deallocate() }

  /// What `row(of:…)` takes; valid as long as the index.
  var address: UInt { unsafe UInt(bitPattern: base) }

  /// The first and the last eight bytes, which may be the same ones, and what is between them.
  @inline(__always)
  private static func hash(_ key: ByteView) -> UInt64 {
    let count = key.count
    if count == 0 { return 0 }
    var mix = UInt64(truncatingIfNeeded: count)
    if count < 8 {
      mix ^= UTF8Order.word(of: key) &<< 8
    } else {
      mix ^= key.uint64(at: 0) &* 0xC2B2_AE3D_27D4_EB4F
      var offset = 8
      while offset < count &- 8 {
        mix = (mix &<< 31 | mix &>> 33) ^ key.uint64(at: offset) &* 0xC2B2_AE3D_27D4_EB4F
        offset &+= 8
      }
      mix = (mix &<< 31 | mix &>> 33) ^ key.uint64(at: count &- 8)
    }
    mix = (mix ^ mix &>> 32) &* 0x9E37_79B9_7F4A_7C15
    return (mix ^ mix &>> 29) &* 0x9E37_79B9_7F4A_7C15
  }

  /// The number of a key's row; nil when there is none.
  /// - Parameters:
  ///   - address: of an index that lives.
  ///   - last: what the body was asked for last, as the number of the row + 1.
  ///   - view: the bytes of a body that has it.
  @inline(__always)
  static func row(
    of key: ByteView, in view: ByteView, _ layout: RecordBody.Layout, _ address: UInt, last: UnsafePointer<Atomic<Int>>
  ) -> Int? {
    guard let base = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
    let shift = unsafe base.load(as: UInt64.self)
    let slotCount = 1 &<< Int(truncatingIfNeeded: 64 &- shift)
    let slots = unsafe base + headerByteCount
    let starts = unsafe slots + 2 &* slotCount
    let rows = unsafe view.base + (layout.fieldsStart &+ 2)
    let keys = unsafe view.base + layout.keysStart
    let nexts = unsafe (starts + 4 &* layout.fieldCount).assumingMemoryBound(to: Atomic<UInt16>.self)
    let place = unsafe last.pointee.load(ordering: .relaxed)
    let expected = unsafe Int(nexts[place].load(ordering: .relaxed))
    if expected != 0, let row = unsafe found(expected &- 1, key, rows, keys, starts) {
      unsafe last.pointee.store(expected, ordering: .relaxed)
      return row
    }
    var slot = Int(truncatingIfNeeded: hash(key) &>> shift)
    while true {
      // Safe: the table has so many slots and starts, and the body the rows and keys that it was made of.
      let number = unsafe Int(slots.load(fromByteOffset: 2 &* slot, as: UInt16.self))
      if number == 0 { return nil }
      if let row = unsafe found(number &- 1, key, rows, keys, starts) {
        // Once: two programs that take turns would write for each other.
        if expected == 0 { unsafe nexts[place].store(UInt16(truncatingIfNeeded: number), ordering: .relaxed) }
        unsafe last.pointee.store(number, ordering: .relaxed)
        return row
      }
      slot = (slot &+ 1) & (slotCount &- 1)
    }
  }

  /// A row, if it has this key.
  @inline(__always)
  private static func found(
    _ row: Int, _ key: ByteView, _ rows: UnsafeRawPointer, _ keys: UnsafeRawPointer, _ starts: UnsafeRawPointer
  ) -> Int? {
    // Safe: the index has so many rows and starts, and the body the rows and keys that it was made of.
    let keyCount = unsafe Int(rows.load(fromByteOffset: RecordBody.tableStride &* row &+ 1, as: UInt8.self))
    guard keyCount == key.count else { return nil }
    let start = unsafe Int(starts.loadUnaligned(fromByteOffset: 4 &* row, as: UInt32.self))
    return unsafe UTF8Order.equal(keys + start, key.base, byteCount: keyCount) ? row : nil
  }
}

/// The index of one body of very many fields, made once it has been searched from the front some times: most callers of a save look at
/// no field of what it returns, and making an index takes as long as some ten searches.
@safe final class LateFieldIndex: @unchecked Sendable {
  private static let patience = 8
  /// In the place of an index's address: keys meet too often.
  private static let refused: UInt = 1

  private let searchCount = Atomic<Int>(0)
  /// The address of a `FieldIndex`, which this retains; 0 as long as there is none.
  private let made = Atomic<UInt>(0)

  deinit { unsafe Self.index(at: made.load(ordering: .acquiring))?.release() }

  private static func index(at address: UInt) -> Unmanaged<FieldIndex>? {
    if address == refused { return nil }
    // Safe: any other address that was stored is that of an object, and retained.
    return unsafe UnsafeRawPointer(bitPattern: address).map { unsafe Unmanaged.fromOpaque($0) }
  }

  /// What `FieldIndex.row(of:…)` takes, valid as long as this; nil where the body is to be searched from the front.
  /// - Parameter view: the bytes of the one body.
  func address(of view: ByteView, _ layout: RecordBody.Layout) -> UInt? {
    let known = made.load(ordering: .acquiring)
    if let index = unsafe Self.index(at: known) { return unsafe index.takeUnretainedValue().address }
    if known == Self.refused || searchCount.add(1, ordering: .relaxed).newValue <= Self.patience { return nil }
    guard let index = FieldIndex(of: view, layout) else {
      made.store(Self.refused, ordering: .relaxed)
      return nil
    }
    let object = unsafe Unmanaged.passRetained(index)
    let own = unsafe UInt(bitPattern: object.toOpaque())
    let (isFirst, other) = made.compareExchange(expected: 0, desired: own, ordering: .acquiringAndReleasing)
    if isFirst { return index.address }
    // Another thread was faster, with an equal one.
    unsafe object.release()
    return unsafe Self.index(at: other)?.takeUnretainedValue().address
  }
}
