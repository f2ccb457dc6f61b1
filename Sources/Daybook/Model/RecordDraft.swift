import DaybookEngine

/// What was changed in a record since it was read: nothing of it exists for a record that is only looked at, and copying
/// such a record counts one reference (row: record-changes-since-1000).
///
/// The edits lie in memory of the draft's own: an array inside an object is retained for each look at it, which was a
/// third of all reference counting of an insert (row: record-insert).
///
/// Always true: only a record that is its single owner changes a draft, others make a copy first; `count` edits at `base`
/// are initialised, sorted by the keys' bytes, one a key.
@safe final class RecordDraft: @unchecked Sendable {
  @exclusivity(unchecked) private var base: UnsafeMutablePointer<FieldEdit>
  @safe @exclusivity(unchecked) private var count = 0
  @safe @exclusivity(unchecked) private var capacity: Int
  /// What a subscript was asked to set and could not.
  @safe @exclusivity(unchecked) var refusals: [Record.Refusal] = []
  /// What happened to the parent.
  @safe @exclusivity(unchecked) var parentEdit = Record.ParentEdit.unchanged

  /// Few records have more than twelve fields; growing from one would move four times.
  private static let usualCapacity = 12

  init() {
    capacity = Self.usualCapacity
    unsafe base = UnsafeMutablePointer.allocate(capacity: Self.usualCapacity)
  }

  init(copying other: RecordDraft) {
    capacity = max(other.count, Self.usualCapacity)
    // Safe: the new memory has room for as many edits as the other draft has.
    unsafe base = UnsafeMutablePointer.allocate(capacity: capacity)
    unsafe base.initialize(from: other.base, count: other.count)
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
  var edits: FieldEdits { unsafe FieldEdits(base, count: count) }

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
    while lower < upper {
      let middle = (lower &+ upper) &>> 1
      // Safe: `middle` stays between the bounds.
      let other = unsafe base[middle].head
      var order = other < head ? -1 : other > head ? 1 : 0
      if order == 0 { order = unsafe UTF8Order.compare(base[middle].key, key) }
      if order == 0 { return Position(index: middle, isFound: true) }
      if order < 0 { lower = middle &+ 1 } else { upper = middle }
    }
    return Position(index: lower)
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
    // Safe: the line above; what is moved out of a place is moved in elsewhere or replaced, and there is room for one more.
    let target: UnsafeMutablePointer<FieldEdit>
    if place.isFound {
      precondition(place.index < count, "an edit that was found is there")
      unsafe target = base + place.index
      // What was stored under the key before its first edit may be of either namespace.
      unsafe isOfBoth = isOfBoth || target.pointee.isOfBoth || target.pointee.isEncrypted != isEncrypted
      unsafe target.deinitialize(count: 1)
    } else {
      if count == capacity { grow() }
      unsafe target = base + place.index
      if place.index < count { unsafe (target + 1).moveInitialize(from: target, count: count &- place.index) }
      count &+= 1
    }
    // Safe: all six properties of an edit, so that it is whole afterwards.
    unsafe target.pointer(to: \.key).unsafelyUnwrapped.initialize(to: key)
    unsafe target.pointer(to: \.head).unsafelyUnwrapped.initialize(to: head)
    unsafe target.pointer(to: \.isEncrypted).unsafelyUnwrapped.initialize(to: isEncrypted)
    unsafe target.pointer(to: \.isOfBoth).unsafelyUnwrapped.initialize(to: isOfBoth)
    unsafe target.pointer(to: \.kind).unsafelyUnwrapped.initialize(to: kind)
    unsafe target.pointer(to: \.value).unsafelyUnwrapped.initialize(to: value)
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
    // Safe: all edits move into memory that has room for them.
    let larger = UnsafeMutablePointer<FieldEdit>.allocate(capacity: capacity * 2)
    unsafe larger.moveInitialize(from: base, count: count)
    unsafe base.deallocate()
    unsafe base = larger
    capacity *= 2
  }

  /// Takes these edits, which are sorted, instead of what it has.
  func replaceEdits(with edits: [FieldEdit]) {
    // Safe: so many are initialised.
    unsafe base.deinitialize(count: count)
    count = 0
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
