import DaybookEngine

/// What was changed in a record since it was read: nothing of it exists for a record that is only looked at, and copying
/// such a record counts one reference (row: record-changes-since-1000).
///
/// The edits lie in memory of the draft's own: an array inside an object is retained for each look at it, which was a
/// third of all reference counting of an insert (row: record-insert).
///
///     ┌─────────────────────────────────┬──────────────────────────┐
///     │ edits, in the order of their    │ their numbers, sorted by │
///     │ first settings                  │ the keys' bytes          │
///     └─────────────────────────────────┴──────────────────────────┘
///
/// A key that comes between others moves numbers, not edits: with two hundred keys, moving edits was a quarter of an insert
/// (row: use-insert-200-fields).
///
/// Always true: only a record that is its single owner changes a draft, others make a copy first; `count` edits at `base`
/// are initialised, one a key, and `order` has each of their numbers once.
@safe final class RecordDraft: @unchecked Sendable {
  @exclusivity(unchecked) private var base: UnsafeMutablePointer<FieldEdit>
  @exclusivity(unchecked) private var order: UnsafeMutablePointer<UInt32>
  @safe @exclusivity(unchecked) private var count = 0
  @safe @exclusivity(unchecked) private var capacity: Int
  /// Where the key that was set last is in the order.
  @safe @exclusivity(unchecked) private var lastIndex = 0
  /// What a subscript was asked to set and could not.
  @safe @exclusivity(unchecked) var refusals: [Record.Refusal] = []
  /// What happened to the parent.
  @safe @exclusivity(unchecked) var parentEdit = Record.ParentEdit.unchanged

  /// Few records have more than twelve fields; growing from one would move four times.
  private static let usualCapacity = 12

  /// Memory for edits and their order, in one allocation.
  private static func makeRoom(
    _ capacity: Int
  ) -> (base: UnsafeMutablePointer<FieldEdit>, order: UnsafeMutablePointer<UInt32>) {
    let editByteCount = capacity * MemoryLayout<FieldEdit>.stride
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: editByteCount + capacity * MemoryLayout<UInt32>.stride, alignment: MemoryLayout<FieldEdit>.alignment)
    // Safe: room for so many of both; the order begins where an edit would.
    return unsafe (
      memory.bindMemory(to: FieldEdit.self, capacity: capacity),
      (memory + editByteCount).bindMemory(to: UInt32.self, capacity: capacity)
    )
  }

  init() {
    capacity = Self.usualCapacity
    unsafe (base, order) = Self.makeRoom(Self.usualCapacity)
  }

  init(copying other: RecordDraft) {
    capacity = max(other.count, Self.usualCapacity)
    // Safe: the new memory has room for as many edits as the other draft has.
    unsafe (base, order) = Self.makeRoom(capacity)
    unsafe base.initialize(from: other.base, count: other.count)
    unsafe order.update(from: other.order, count: other.count)
    count = other.count
    refusals = other.refusals
    parentEdit = other.parentEdit
  }

  deinit {
    // Safe: so many are initialised.
    unsafe base.deinitialize(count: count)
    unsafe base.deallocate()
  }

  /// What was set and removed; valid as long as the draft, until it is changed.
  @inline(__always)
  var edits: FieldEdits { unsafe FieldEdits(base, order, count: count) }

  /// Where a key is among the edits, or would be.
  struct Position {
    var index = 0
    var isFound = false
  }

  /// The position of a key whose head is known.
  @inline(__always)
  func position(of key: ByteView, head: UInt64) -> Position {
    var lower = 0
    var upper = count
    if count > Self.usualCapacity {
      // Keys with ascending numbers are mostly set in that order.
      let next = lastIndex &+ 1
      if next <= count, isBelow(head, at: lastIndex) {
        if next == count || isAbove(head, at: next) { return Position(index: next) }
        lower = next
      }
    }
    while lower < upper {
      let middle = (lower &+ upper) &>> 1
      // Safe: `middle` stays between the bounds, and the order has numbers of edits.
      let edit = unsafe base + Int(order[middle])
      let other = unsafe edit.pointee.head
      var comparison = other < head ? -1 : other > head ? 1 : 0
      if comparison == 0 { comparison = unsafe UTF8Order.compare(edit.pointee.key, key) }
      if comparison == 0 { return Position(index: middle, isFound: true) }
      if comparison < 0 { lower = middle &+ 1 } else { upper = middle }
    }
    return Position(index: lower)
  }

  /// Whether the key with a number in the order is before all that begin with a head.
  @inline(__always)
  private func isBelow(_ head: UInt64, at index: Int) -> Bool {
    precondition(index >= 0 && index < count, "a place in the order")
    // Safe: the line above.
    return unsafe base[Int(order[index])].head < head
  }

  @inline(__always)
  private func isAbove(_ head: UInt64, at index: Int) -> Bool {
    precondition(index >= 0 && index < count, "a place in the order")
    // Safe: the line above.
    return unsafe base[Int(order[index])].head > head
  }

  /// Puts an edit in its place; the newer one of a key wins.
  @inline(__always)
  func put(_ edit: FieldEdit, at place: Position) {
    put(edit.key, head: edit.head, edit.isEncrypted, edit.kind, edit.value, at: place, isOfBoth: edit.isOfBoth)
  }

  /// The same of its parts. They are put into their places one by one: made elsewhere first, an edit is copied and
  /// destroyed, its references counted twice (row: record-insert).
  /// - Parameter kind: the value's; nil removes.
  @inline(__always)
  func put(
    _ key: String, head: UInt64, _ isEncrypted: Bool, _ kind: FieldKind?, _ value: consuming Record.Value?,
    at place: Position, isOfBoth: Bool = false
  ) {
    var isOfBoth = isOfBoth
    precondition(place.index >= 0 && place.index <= count, "the place of an edit comes from a search")
    // Safe: the line above; what was in a place is replaced, and there is room for one more.
    let target: UnsafeMutablePointer<FieldEdit>
    if place.isFound {
      precondition(place.index < count, "an edit that was found is there")
      unsafe target = base + Int(order[place.index])
      // What was stored under the key before its first edit may be of either namespace.
      unsafe isOfBoth = isOfBoth || target.pointee.isOfBoth || target.pointee.isEncrypted != isEncrypted
      unsafe target.deinitialize(count: 1)
    } else {
      if count == capacity { grow() }
      unsafe target = base + count
      let number = unsafe order + place.index
      if place.index < count { unsafe (number + 1).update(from: number, count: count &- place.index) }
      unsafe number.pointee = UInt32(truncatingIfNeeded: count)
      count &+= 1
      lastIndex = place.index
    }
    #if DEBUG
      // Key paths are looked up by name without optimisation, and that costs more than the copy.
      unsafe target.initialize(
        to: FieldEdit(key: key, head: head, isEncrypted: isEncrypted, isOfBoth: isOfBoth, kind: kind, value: value))
    #else
      // Safe: all six properties of an edit, so that it is whole afterwards.
      unsafe target.pointer(to: \.key).unsafelyUnwrapped.initialize(to: key)
      unsafe target.pointer(to: \.head).unsafelyUnwrapped.initialize(to: head)
      unsafe target.pointer(to: \.isEncrypted).unsafelyUnwrapped.initialize(to: isEncrypted)
      unsafe target.pointer(to: \.isOfBoth).unsafelyUnwrapped.initialize(to: isOfBoth)
      unsafe target.pointer(to: \.kind).unsafelyUnwrapped.initialize(to: kind)
      unsafe target.pointer(to: \.value).unsafelyUnwrapped.initialize(to: value)
    #endif
  }

  /// A key that was set rightly in the end has nothing to be refused for.
  @inline(__always)
  func forgive(_ key: String, _ isEncrypted: Bool) {
    if !refusals.isEmpty { forgiveRefusals(key, isEncrypted) }
  }

  @inline(never)
  private func forgiveRefusals(_ key: String, _ isEncrypted: Bool) {
    refusals.removeAll { $0.isEncrypted == isEncrypted && UTF8Order.equal($0.key, key) }
  }

  @inline(never)
  private func grow() {
    // Safe: all edits, and their order, move into memory that has room for them.
    let larger = unsafe Self.makeRoom(capacity * 2)
    unsafe larger.base.moveInitialize(from: base, count: count)
    unsafe larger.order.update(from: order, count: count)
    unsafe base.deallocate()
    unsafe (base, order) = larger
    capacity *= 2
  }

  /// Takes these edits, which are sorted, instead of what it has.
  func replaceEdits(with edits: [FieldEdit]) {
    // Safe: so many are initialised.
    unsafe base.deinitialize(count: count)
    count = 0
    lastIndex = 0
    for edit in edits { put(edit, at: Position(index: count)) }
  }
}

extension Record {
  /// The draft, made or copied when it is not this record's own.
  @inline(__always)
  mutating func ownDraft() -> RecordDraft {
    if isKnownUniquelyReferenced(&draft), let draft { return draft }
    let own = draft.map { RecordDraft(copying: $0) } ?? RecordDraft()
    draft = own
    return own
  }

  /// Calls `body` with what was set and removed since the record was read; the view ends with the call.
  @inline(__always)
  func withEdits<R, E: Error>(_ body: (FieldEdits) throws(E) -> R) throws(E) -> R {
    defer { withExtendedLifetime(draft) {} }
    return try body(draft?.edits ?? FieldEdits())
  }

  /// What was set and removed since the record was read, sorted by the keys' bytes; one edit a key. A copy.
  package internal(set) var edits: [FieldEdit] {
    get {
      withEdits { edits in
        var copy: [FieldEdit] = []
        copy.reserveCapacity(edits.count)
        for index in edits.indices { copy.append(edits[index]) }
        return copy
      }
    }
    set { ownDraft().replaceEdits(with: newValue) }
  }

  var hasEdits: Bool { withEdits { $0.count > 0 } }

  /// What a subscript was asked to set and could not.
  var refusals: [Refusal] {
    get { draft?.refusals ?? [] }
    set { ownDraft().refusals = newValue }
  }

  /// What happened to the parent since the record was read.
  var parentEdit: ParentEdit {
    get { draft?.parentEdit ?? .unchanged }
    set { ownDraft().parentEdit = newValue }
  }
}
