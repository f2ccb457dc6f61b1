import DaybookEngine

/// What was changed in a record since it was read: nothing of it exists for a record that is only looked at, and copying
/// such a record counts one reference (row: record-changes-since-1000).
///
/// Always true: only a record that is its single owner changes a draft; others make a copy first.
final class RecordDraft: @unchecked Sendable {
  /// What was set and removed, sorted by the keys' bytes; one edit a key.
  @safe @exclusivity(unchecked) var edits: [FieldEdit] = []
  /// What a subscript was asked to set and could not.
  @safe @exclusivity(unchecked) var refusals: [Record.Refusal] = []
  /// What happened to the parent.
  @safe @exclusivity(unchecked) var parentEdit = Record.ParentEdit.unchanged

  init() {}

  init(copying other: RecordDraft) {
    edits = other.edits
    refusals = other.refusals
    parentEdit = other.parentEdit
  }
}

extension RecordDraft {
  /// Where a key is among the edits, or would be.
  struct Position {
    var index = 0
    var isFound = false
  }

  /// The position of a key whose head is known. Looks at heads only, where they differ: reading a key counts a reference
  /// (row: record-insert).
  @inline(__always)
  func position(of key: ByteView, head: UInt64) -> Position {
    // Safe: `middle` stays between the bounds, which are those of the array.
    unsafe edits.withUnsafeBufferPointer { edits in
      var lower = 0
      var upper = edits.count
      while lower < upper {
        let middle = (lower &+ upper) &>> 1
        let other = unsafe edits[middle].head
        var order = other < head ? -1 : other > head ? 1 : 0
        if order == 0 { order = unsafe UTF8Order.compare(edits[middle].key, key) }
        if order == 0 { return Position(index: middle, isFound: true) }
        if order < 0 { lower = middle &+ 1 } else { upper = middle }
      }
      return Position(index: lower)
    }
  }

  /// Puts an edit in its place; the newer one of a key wins.
  @inline(__always)
  func put(_ edit: consuming FieldEdit, at place: Position) {
    if place.isFound {
      edits[place.index] = edit
      return
    }
    // Few records have more than twelve fields; growing from one would copy four times.
    if edits.isEmpty { edits.reserveCapacity(12) }
    edits.append(edit)
    let last = edits.count &- 1
    if place.index < last { moveLast(to: place.index) }
  }

  /// Moves the last edit forward, those behind it back. `Array.insert` copies edits one by one (row: record-insert).
  @inline(__always)
  private func moveLast(to index: Int) {
    // Safe: every edit is moved out of its place before another one is moved into it; `index` is below the last.
    unsafe edits.withUnsafeMutableBufferPointer { edits in
      guard let base = edits.baseAddress else { return }
      let last = edits.count &- 1
      let edit = unsafe (base + last).move()
      unsafe (base + index + 1).moveInitialize(from: base + index, count: last &- index)
      unsafe (base + index).initialize(to: edit)
    }
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

  /// What was set and removed since the record was read, sorted by the keys' bytes; one edit a key.
  package internal(set) var edits: [FieldEdit] {
    @inline(__always) get { draft?.edits ?? [] }
    @inline(__always) _modify {
      let draft = ownDraft()
      yield &draft.edits
    }
  }

  /// What a subscript was asked to set and could not.
  var refusals: [Refusal] {
    @inline(__always) get { draft?.refusals ?? [] }
    @inline(__always) _modify {
      let draft = ownDraft()
      yield &draft.refusals
    }
  }

  /// What happened to the parent since the record was read.
  var parentEdit: ParentEdit {
    @inline(__always) get { draft?.parentEdit ?? .unchanged }
    set { ownDraft().parentEdit = newValue }
  }
}
