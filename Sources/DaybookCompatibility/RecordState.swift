#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// A key of a record, plain or encrypted.
  struct FieldSlot: Hashable, Sendable {
    private let name: ByteText
    let isEncrypted: Bool

    var key: String { name.text }

    /// The same key, as that of a plain value.
    var plain: FieldSlot { FieldSlot(name: name, isEncrypted: false) }

    private init(name: ByteText, isEncrypted: Bool) {
      self.name = name
      self.isEncrypted = isEncrypted
    }

    init(_ key: String, isEncrypted: Bool = false) {
      name = ByteText(key)
      self.isEncrypted = isEncrypted
    }
  }

  /// What a record object has: the record as it was made, fetched or last saved, and what was put into it since.
  ///
  /// Always true: an edit, that of the parent too, has a number of its own, so that a save can tell what it has saved from what was put there meanwhile.
  struct RecordState: Sendable {
    private struct Edit {
      let number: Int
      let content: FieldContent
    }

    /// Without a record when type or identity are none that a database takes.
    private(set) var base: Result<Record, DatabaseError>
    private var edits: [FieldSlot: Edit] = [:]
    private var lastNumber = 0
    private struct ParentEdit {
      let number: Int
      let parent: CKRecord.Reference?
    }
    private var lastParentEdit: ParentEdit?
    /// The parent that was set, or taken away.
    var parentEdit: CKRecord.Reference?? {
      get { lastParentEdit.map(\.parent) }
      set {
        lastNumber += 1
        let number = lastNumber
        lastParentEdit = newValue.map { ParentEdit(number: number, parent: $0) }
      }
    }

    init(_ base: Result<Record, DatabaseError>) { self.base = base }

    /// The same in memory of its own, for another thread. That a dictionary changes in place only when no other thread has it, the thread
    /// sanitizer does not see.
    var copy: RecordState {
      var copy = self
      copy.edits = edits.mapValues { $0 }
      return copy
    }

    // MARK: reading

    private var known: Record? { try? base.get() }

    func object(_ slot: FieldSlot) -> (any CKRecordValueProtocol)? {
      if let edit = edits[slot] { return edit.content.object }
      let value: Record.Value? = slot.isEncrypted ? known?.encryptedValues[slot.key] : known?[slot.key]
      return value?.object
    }

    /// What a save would write; nil where the key is removed, or its value cannot be read here.
    func value(_ slot: FieldSlot) throws(DatabaseError) -> Record.Value? {
      if let edit = edits[slot] { return try edit.content.daybookValue }
      return slot.isEncrypted ? known?.encryptedValues[slot.key] : known?[slot.key]
    }

    // Sets and orders of slots, and none of texts: to hash or compare these, Swift sorts the marks of a letter, in the square of their
    // number, and a key may be any text.

    func keys(isEncrypted: Bool) -> [String] { present(isEncrypted).map(\.key).sorted(by: Self.isBefore) }

    func changedKeys(isEncrypted: Bool) -> [String] { changed(isEncrypted).map(\.key).sorted(by: Self.isBefore) }

    /// The keys of plain and of encrypted values, each once.
    var allKeys: [String] { Self.keys(present(false).union(present(true))) }

    var allChangedKeys: [String] { Self.keys(changed(false).union(changed(true))) }

    private static func keys(_ slots: Set<FieldSlot>) -> [String] {
      Set(slots.map(\.plain)).map(\.key).sorted(by: isBefore)
    }

    /// The slots of all keys that have a value or were changed, in order.
    func slots(isEncrypted: Bool) -> [FieldSlot] {
      present(isEncrypted).union(changed(isEncrypted)).sorted { Self.isBefore($0.key, $1.key) }
    }

    private func present(_ isEncrypted: Bool) -> Set<FieldSlot> {
      let stored = (isEncrypted ? known?.encryptedValues.keys : known?.keys) ?? []
      var slots = Set(stored.map { FieldSlot($0, isEncrypted: isEncrypted) })
      for (slot, edit) in edits where slot.isEncrypted == isEncrypted {
        if edit.content.object == nil { slots.remove(slot) } else { slots.insert(slot) }
      }
      return slots
    }

    private func changed(_ isEncrypted: Bool) -> Set<FieldSlot> {
      let stored = (isEncrypted ? known?.encryptedValues.changedKeys : known?.changedKeys) ?? []
      var slots = Set(stored.map { FieldSlot($0, isEncrypted: isEncrypted) })
      for slot in edits.keys where slot.isEncrypted == isEncrypted { slots.insert(slot) }
      return slots
    }

    private static func isBefore(_ first: String, _ second: String) -> Bool {
      first.utf8.lexicographicallyPrecedes(second.utf8)
    }

    var parent: CKRecord.Reference? {
      if let parentEdit { return parentEdit }
      return known?.parent.map { CKRecord.Reference($0) }
    }

    // MARK: writing

    mutating func put(_ content: FieldContent, _ slot: FieldSlot) {
      lastNumber += 1
      edits[slot] = Edit(number: lastNumber, content: content)
    }

    /// The record with all edits.
    func record() throws(DatabaseError) -> Record {
      var record = try base.get()
      // In the order of keys, so that of several refused ones always the same is told.
      for (slot, edit) in edits.sorted(by: { Self.isBefore($0.key.key, $1.key.key) }) {
        do throws(DatabaseError) {
          guard let value = try edit.content.daybookValue else {
            // By the subscripts: a key that no record has can be set by mistake and taken back.
            if slot.isEncrypted {
              record.encryptedValues[slot.key] = nil as Record.Value?
            } else {
              record[slot.key] = nil as Record.Value?
            }
            continue
          }
          if slot.isEncrypted {
            try record.encryptedValues.set(value, forKey: slot.key)
          } else {
            try record.set(value, forKey: slot.key)
          }
        } catch {
          throw error.adding { facts in
            facts.key = slot.key
            facts.name = record.id.name
            facts.zone = record.id.zone
            facts.recordType = record.type
          }
        }
      }
      if let parentEdit {
        if let parentEdit { record.parent = try parentEdit.daybookReference } else { record.parent = nil }
      }
      return record
    }

    /// Takes over what a save has made of an earlier state; what was changed since stays changed.
    ///
    /// Of two saves at once the second may answer first. Then the later version stays.
    /// - Parameter stored: the record as it is stored now; asked for where another save has answered meanwhile.
    mutating func take(_ saved: Record, savedAs earlier: RecordState, stored: () -> Record?) {
      let known = known?.metadata
      if known == earlier.known?.metadata || !Self.isOlder(saved.metadata, than: known, stored: stored()?.metadata) {
        base = .success(saved)
      }
      edits = edits.filter { $0.value.number > earlier.lastNumber }
      if let edit = lastParentEdit, edit.number <= earlier.lastNumber { lastParentEdit = nil }
    }

    /// Whether a version came before another one. Tags have no order; one of the two is the stored one, unless another writer has
    /// saved the record since.
    private static func isOlder(_ saved: Record.Metadata?, than known: Record.Metadata?, stored: Record.Metadata?) -> Bool {
      guard let saved, let known else { return false }
      if saved.changeTag == stored?.changeTag { return false }
      return known.changeTag == stored?.changeTag || saved.modificationDate < known.modificationDate
    }
  }

  extension FieldContent {
    /// A value of a type that is none of those that a field can hold.
    init(unsupported value: Any) {
      self = .refused(
        DatabaseError(.invalidArguments, "No field can hold the value.", facts: .init(found: "\(type(of: value))")))
    }
  }
#endif
