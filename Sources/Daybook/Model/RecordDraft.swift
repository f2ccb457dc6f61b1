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
/// A new record whose keys come in an order that is known (`KeyOrder`) has no edits but values at the numbers of their keys. What
/// does not fit that, such as a key that was set before, an encrypted one or one out of order, makes edits of them: the draft is
/// *spelled out*, and stays so.
///
/// Always true: only a record that is its single owner changes a draft, others make a copy first; `count` edits at `base`
/// are initialised, one a key, and `order` has each of their numbers once. With `expected` there are no edits and no refusals,
/// the record has no stored fields, and `next` values are initialised.
@safe final class RecordDraft: @unchecked Sendable {
  @exclusivity(unchecked) private var base: UnsafeMutablePointer<FieldEdit>
  @exclusivity(unchecked) private var order: UnsafeMutablePointer<UInt32>
  @safe @exclusivity(unchecked) private var count = 0
  @safe @exclusivity(unchecked) private var capacity: Int
  /// Where the key that was set last is in the order.
  @safe @exclusivity(unchecked) private var lastIndex = 0
  /// The order of the edits is not that in which a program set them.
  @safe @exclusivity(unchecked) private(set) var isReplaced = false
  /// What a subscript was asked to set and could not.
  @safe @exclusivity(unchecked) var refusals: [Record.Refusal] = []
  /// What happened to the parent.
  @safe @exclusivity(unchecked) var parentEdit = Record.ParentEdit.unchanged
  /// The order in which keys have come so far; nil when there are edits.
  @safe @exclusivity(unchecked) private(set) var expected: KeyOrder?
  @exclusivity(unchecked) private var values: UnsafeMutablePointer<ExpectedEdit>
  /// The number of the key that is expected next.
  @safe @exclusivity(unchecked) private var next = 0
  /// How many have a value.
  @safe @exclusivity(unchecked) private(set) var valueCount = 0
  /// Of those: 1 << the kind.
  @safe @exclusivity(unchecked) private(set) var kinds: UInt32 = 0

  /// Kinds whose values are numbers in themselves.
  private static let plainKinds: UInt32 =
    1 << FieldKind.int.rawValue | 1 << FieldKind.double.rawValue | 1 << FieldKind.date.rawValue
  /// How many keys may be passed over at once, for optional values.
  private static let gapLimit = 8

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
    unsafe values = Self.noMemory()
  }

  /// A draft of a record without stored fields whose keys will come in an order.
  init(expecting expected: KeyOrder) {
    self.expected = expected
    capacity = 0
    unsafe (base, order) = (Self.noMemory(), Self.noMemory())
    unsafe values = .allocate(capacity: expected.count)
  }

  private static func noMemory<T>() -> UnsafeMutablePointer<T> {
    // Safe: what is at the address of nothing is never read.
    unsafe UnsafeMutablePointer(bitPattern: 16)!
  }

  init(copying other: RecordDraft) {
    parentEdit = other.parentEdit
    if let expected = other.expected {
      self.expected = expected
      (capacity, next, valueCount, kinds) = (0, other.next, other.valueCount, other.kinds)
      unsafe (base, order) = (Self.noMemory(), Self.noMemory())
      // Safe: room for all, and so many are initialised.
      unsafe values = .allocate(capacity: expected.count)
      unsafe values.initialize(from: other.values, count: next)
      return
    }
    unsafe values = Self.noMemory()
    capacity = max(other.count, Self.usualCapacity)
    // Safe: the new memory has room for as many edits as the other draft has.
    unsafe (base, order) = Self.makeRoom(capacity)
    unsafe base.initialize(from: other.base, count: other.count)
    unsafe order.update(from: other.order, count: other.count)
    count = other.count
    isReplaced = other.isReplaced
    refusals = other.refusals
  }

  deinit {
    // Safe: so many are initialised, of the one or the other.
    if expected != nil {
      if kinds & ~Self.plainKinds != 0 { unsafe values.deinitialize(count: next) }
      unsafe values.deallocate()
    } else {
      unsafe base.deinitialize(count: count)
      unsafe base.deallocate()
    }
  }

  // MARK: keys in the order that is expected

  /// Not below the number of keys that were set.
  var mostCount: Int { count &+ next }

  /// Whether there is something to save.
  var isEmpty: Bool { count == 0 && next == 0 }

  /// Sets or removes a key, and takes `value` away, if the key comes as expected, or after some that are passed over. Else nothing is
  /// done, as for a value that cannot be stored.
  @inline(__always)
  func isTaken(_ value: inout Record.Value?, forKey key: String) -> Bool {
    guard let expected else { return false }
    guard next < expected.count, expected.has(key, at: next) else { return isTakenElsewhere(&value, key, expected) }
    guard case .int(let number)? = value else { return isTakenNext(&value) }
    take(.int(number), .int)
    return true
  }

  /// Sets the key that is expected next to a value that can be stored. Where another key comes, nothing is done.
  @inline(__always)
  func takesNext(_ value: consuming Record.Value, _ kind: FieldKind, forKey key: String) -> Bool {
    guard let expected, next < expected.count, expected.has(key, at: next) else { return false }
    take(value, kind)
    return true
  }

  @inline(never)
  private func isTakenElsewhere(_ value: inout Record.Value?, _ key: String, _ expected: KeyOrder) -> Bool {
    let end = min(expected.count, next + 1 + Self.gapLimit)
    guard let number = (min(next + 1, end)..<end).first(where: { expected.has(key, at: $0) }) else {
      guard let other = KeyOrders.find(beside: expected, after: next, key) else { return false }
      follow(other)
      return isTakenNext(&value)
    }
    let start = next
    while next < number {
      // Safe: there is room for all keys of the order.
      unsafe (values + next).initialize(to: ExpectedEdit(value: .int(0), form: ExpectedEdit.absent))
      next += 1
    }
    if isTakenNext(&value) { return true }
    next = start
    return false
  }

  /// Goes on in another order, which begins with the same keys.
  private func follow(_ other: KeyOrder) {
    // Safe: so many are initialised, and the other order has more keys.
    let moved = UnsafeMutablePointer<ExpectedEdit>.allocate(capacity: other.count)
    unsafe moved.moveInitialize(from: values, count: next)
    unsafe values.deallocate()
    unsafe values = moved
    expected = other
  }

  @inline(never)
  private func isTakenNext(_ value: inout Record.Value?) -> Bool {
    guard let new = value.take() else {
      // Safe: `next` is the number of a key.
      unsafe (values + next).initialize(to: ExpectedEdit(value: .int(0), form: ExpectedEdit.removed))
      next += 1
      return true
    }
    let kind = new.kind
    if kind.holdsDoubles {
      guard let storable = try? new.storable() else {
        value = new
        return false
      }
      take(storable, kind)
    } else {
      take(new, kind)
    }
    return true
  }

  @inline(__always)
  private func take(_ value: consuming Record.Value, _ kind: FieldKind) {
    // Safe: the caller knows that `next` is the number of a key, and there is room for all keys of the order.
    unsafe (values + next).initialize(to: ExpectedEdit(value: value, form: kind.rawValue))
    next &+= 1
    valueCount &+= 1
    kinds |= 1 &<< UInt32(kind.rawValue)
  }

  /// What was done to the keys that came as expected, by their numbers; valid as long as the draft, until it is changed.
  @inline(__always)
  var expectedEdits: ExpectedEdits { unsafe ExpectedEdits(values, count: next) }

  /// Whether a value has one of two kinds.
  func has(_ kind: FieldKind, or other: FieldKind) -> Bool {
    kinds & (1 &<< UInt32(kind.rawValue) | 1 &<< UInt32(other.rawValue)) != 0
  }

  /// Whether what came leaves out most of the keys that were expected: then another order may fit.
  var isFewOfMany: Bool {
    guard let expected else { return false }
    return expected.count > 16 && valueCount < expected.count / 4
  }

  /// Makes edits of what came as expected.
  @inline(never)
  func spellOut() {
    guard let expected else { return }
    self.expected = nil
    capacity = max(next + 1, Self.usualCapacity)
    unsafe (base, order) = Self.makeRoom(capacity)
    // Where the edit of each number is; few are as quickly put in their places one by one.
    var places: [UInt32] = []
    let isSorted = valueCount > Self.usualCapacity
    if isSorted { places.reserveCapacity(next) }
    for number in 0..<next {
      // Safe: so many values are initialised, and each is moved from once; there is room for as many edits.
      let taken = unsafe (values + number).move()
      if isSorted { places.append(UInt32(truncatingIfNeeded: count)) }
      if taken.form == ExpectedEdit.absent { continue }
      let key = expected.key(number)
      let edit = FieldEdit(
        key: key, head: UTF8Order.withView(of: key) { UTF8Order.head(of: $0) }, isEncrypted: false,
        kind: taken.isValue ? taken.value.kind : nil, value: taken.isValue ? taken.value : nil)
      if isSorted {
        unsafe (base + count).initialize(to: edit)
        count += 1
      } else {
        put(edit, at: UTF8Order.withView(of: key) { position(of: $0, head: edit.head) })
      }
    }
    var rank = 0
    for place in 0..<(isSorted ? expected.count : 0) {
      let number = expected.places[place].number
      // Safe: an edit each, so there are as many as edits.
      if number < next, number + 1 < next ? places[number + 1] > places[number] : Int(places[number]) < count {
        unsafe order[rank] = places[number]
        rank += 1
      }
    }
    unsafe values.deallocate()
    unsafe values = Self.noMemory()
    (next, valueCount, kinds) = (0, 0, 0)
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
    isReplaced = true
    for edit in edits { put(edit, at: Position(index: count)) }
  }
}

extension Record {
  /// The draft, made or copied when it is not this record's own, with edits.
  @inline(__always)
  mutating func ownDraft() -> RecordDraft {
    if isKnownUniquelyReferenced(&draft), let draft {
      if draft.expected != nil { draft.spellOut() }
      return draft
    }
    return makeOwnDraft()
  }

  private mutating func makeOwnDraft() -> RecordDraft {
    let own: RecordDraft
    if let draft {
      own = RecordDraft(copying: draft)
      own.spellOut()
    } else {
      own = RecordDraft()
    }
    draft = own
    return own
  }

  /// Sets or removes a plain key, and takes `value` away, if it comes in the order that is expected of new records of the type: then
  /// nothing has to be looked up. Else nothing is done.
  @inline(__always)
  mutating func isTaken(_ value: inout Value?, forKey key: String) -> Bool {
    guard isKnownUniquelyReferenced(&draft) || makesExpectingDraft(forKey: key) else { return false }
    // Safe: the record has the draft all the while. As a strong reference it would be counted for each field (row:
    // use-insert-200-fields).
    return unsafe Unmanaged.passUnretained(draft.unsafelyUnwrapped)._withUnsafeGuaranteedRef {
      $0.isTaken(&value, forKey: key)
    }
  }

  /// Sets the key that is expected next to a value that can be stored. Else nothing is done.
  @inline(__always)
  mutating func takesNext(_ value: Value, _ kind: FieldKind, forKey key: String) -> Bool {
    guard isKnownUniquelyReferenced(&draft) else { return false }
    // Safe: the record has the draft all the while, as above.
    return unsafe Unmanaged.passUnretained(draft.unsafelyUnwrapped)._withUnsafeGuaranteedRef {
      $0.takesNext(value, kind, forKey: key)
    }
  }

  /// The same of the first key of a draft that was made for something else, such as a parent.
  @inline(__always)
  mutating func takesFirst(_ value: inout Value?, _ key: String) -> Bool {
    guard let draft, draft.isEmpty, draft.expected == nil else { return false }
    return makesExpectingDraft(forKey: key) && isTaken(&value, forKey: key)
  }

  /// Makes the draft that the key begins, or copies another record's that goes on with it. False when edits are needed.
  @inline(__always)
  private mutating func makesExpectingDraft(forKey key: String) -> Bool { body.fieldCount == 0 && beginsExpecting(key) }

  @inline(never)
  private mutating func beginsExpecting(_ key: String) -> Bool {
    if let draft {
      if draft.expected != nil {
        self.draft = RecordDraft(copying: draft)
        return true
      }
      guard draft.isEmpty, draft.refusals.isEmpty else { return false }
    }
    let order = body.withBytes { KeyOrders.find(type: RecordBody.typeBytes(of: $0), firstKey: key) }
    guard let order else { return false }
    let own = RecordDraft(expecting: order)
    own.parentEdit = parentEdit
    draft = own
    return true
  }

  /// Calls `body` with what was set and removed since the record was read; the view ends with the call.
  @inline(__always)
  func withEdits<R, E: Error>(_ body: (FieldEdits) throws(E) -> R) throws(E) -> R {
    if let draft, draft.expected != nil { return try Record.withSpelledEdits(of: draft, body) }
    defer { withExtendedLifetime(draft) {} }
    return try body(draft?.edits ?? FieldEdits())
  }

  @inline(never)
  private static func withSpelledEdits<R, E: Error>(
    of draft: RecordDraft, _ body: (FieldEdits) throws(E) -> R
  ) throws(E) -> R {
    let spelled = RecordDraft(copying: draft)
    spelled.spellOut()
    defer { withExtendedLifetime(spelled) {} }
    return try body(spelled.edits)
  }

  /// Takes note of the order in which the keys of a new record were set, so that the next ones of the type expect it.
  func noteOrder() {
    guard let draft, !draft.isReplaced, body.fieldCount == 0, draft.expected == nil || draft.isFewOfMany else { return }
    withEdits { edits in body.withBytes { KeyOrders.note(edits, type: RecordBody.typeBytes(of: $0)) } }
  }

  /// Whether its keys have come in the order that was expected: then edits are made for each question about them.
  var isExpected: Bool { draft?.expected != nil }

  /// The same with edits: for several questions about them.
  var spelledOut: Record {
    var copy = self
    if isExpected { _ = copy.makeOwnDraft() }
    return copy
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

  var hasEdits: Bool { draft.map { !$0.isEmpty } ?? false }

  /// What a subscript was asked to set and could not.
  var refusals: [Refusal] {
    get { draft?.refusals ?? [] }
    set { ownDraft().refusals = newValue }
  }

  /// What happened to the parent since the record was read.
  var parentEdit: ParentEdit {
    get { draft?.parentEdit ?? .unchanged }
    set {
      // Nothing else of the draft changes: it goes on as it is.
      if isExpected {
        if !isKnownUniquelyReferenced(&draft) { draft = draft.map { RecordDraft(copying: $0) } }
        draft?.parentEdit = newValue
      } else {
        ownDraft().parentEdit = newValue
      }
    }
  }
}
