#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// One record while it is made from a value: its fields.
///
/// Containers write straight into the record. What a container cannot throw, because the call that went wrong throws nothing,
/// is kept in `fault` and thrown at the end.
final class EncodingScope: CodingScope {
  /// A field or member that is encoded through a container that a type was given, and finished at the end.
  private struct Pending {
    let encoder: FieldEncoder
    let target: FieldTarget
  }

  @safe @exclusivity(unchecked) var fields: FieldWriter
  /// Nil unless a graph is encoded.
  let graph: GraphEncoding?
  /// The records of values that the record refers to, without a graph that has them.
  var referredValues: [ReferredValue] = []
  /// They are to be compared.
  let comparesReferred: Bool
  /// The type has a key for the system fields.
  private(set) var hasSystemFieldsKey = false
  /// A property of the value is an asset, or a file: it is another one once it is stored.
  var hasAssets = false
  /// What superclasses encrypt in records of their own; nil for nothing.
  var inheritedSecrets: [String]?
  @safe @exclusivity(unchecked) var fault: (any Error)?
  @safe @exclusivity(unchecked) private var pending: [Pending] = []
  /// Flattened values that have no field yet, and something in them that is finished later.
  @safe @exclusivity(unchecked) private var unmarked: [Pending] = []
  /// Those that were asked for by a key: who asks again goes on with the same one.
  private var pendingByField: [String: FieldEncoder] = [:]
  /// Which path has which field, where two paths could have one.
  private(set) var owners: [String: [String]] = [:]
  private var mayCollide = false
  /// Keys are the names of fields, and no rule or option changes what the usual kinds of values become: containers write these
  /// at once, and go the careful way for all else.
  @safe @exclusivity(unchecked) private(set) var isPlainlyWritten = false
  @safe @exclusivity(unchecked) var byteCount = 0
  /// What the stored record may have of flattened values.
  @safe @exclusivity(unchecked) private(set) var flattened: FlattenedFields?
  /// Finds rules without a key; nil for types without rules, and for those whose rules are known to have their keys.
  @safe @exclusivity(unchecked) var ruleCheck: RuleCheck?
  /// The value itself is an enum: of another case it had other fields.
  private var isOfEnum: Bool
  /// The keys of the value itself that a container was asked for first.
  private var firstKeys: (any CodingKey.Type)?
  private var hasOtherKeys = false
  /// The keys of the value itself that their types list: what is not encoded of them is removed.
  @safe @exclusivity(unchecked) var listedKeys: [any CodingKey] = []
  /// The fields that the value has, or says are nil, where the record does not tell: it has those that were there before.
  var named: Set<String> = []
  /// After encoding: each rule of the type has its key.
  private(set) var areRulesComplete = false

  init(
    _ fields: FieldWriter, _ options: RecordCodingOptions, rules: [String: FieldRule], recordNameKey: String,
    graph: GraphEncoding?, isOfEnum: Bool = false, comparesReferred: Bool = false
  ) {
    self.fields = fields
    self.comparesReferred = comparesReferred
    self.graph = graph
    self.isOfEnum = isOfEnum
    super.init(options, rules: rules, recordNameKey: recordNameKey)
    mayCollide =
      isOfEnum || !options.hasPlainKeys || options.isFlattened
      || self.rules.values.contains { if case .flattened = $0 { true } else { false } }
    isPlainlyWritten = isPlain && options.isPlain && !mayCollide && !fields.keepsEqualValues
  }

  /// Of a key, a number, and what a body has for each field.
  private static let mostByteCountOfKey = 272

  /// Encodes the whole value; afterwards `fields` has its record.
  func encode(_ value: some Encodable) throws {
    try value.encode(to: FieldsEncoder(scope: self, above: nil))
    // A container that is finished may have been the way to others.
    while !pending.isEmpty {
      let next = pending.removeFirst()
      pendingByField[next.target.field] = nil
      try finish(next.encoder, next.encoder.result(), next.target)
    }
    for value in unmarked {
      value.encoder.step.hasPending = false
      try storeMark(of: value.encoder, value.target)
    }
    if !listedKeys.isEmpty { try removeLeftOut() }
    if let fault { throw fault }
    if let ruleCheck { areRulesComplete = try ruleCheck.finish() }
    if let inheritedSecrets { try check(inheritedSecrets) }
    if flattened != nil { try finishFlattened() }
    // Numbers and keys were not counted.
    let most = byteCount.addingReportingOverflow(fields.record.fieldCountLimit * Self.mostByteCountOfKey).partialValue
    if most > options.limits.recordByteCount / 2 { try checkSize() }
  }

  /// The value encodes an enum in its place.
  func encodesEnum() {
    isOfEnum = true
    claimAll()
  }

  /// From here on it is known which fields the value names.
  private func claimAll() {
    mayCollide = true
    isPlainlyWritten = false
  }

  private static let dictionaryKeys = KeyProbe.keys(of: [String: Int].self, userInfo: [:]).map { ObjectIdentifier($0) }

  /// The value itself asked for a container. An enum had other fields of another case, and a dictionary may have lost keys.
  func seeKeysOfRecord<Key: CodingKey>(_ type: Key.Type) {
    seeListedKeys(type)
    if isOfEnum {
      markFlattened(type, below: nil)
    } else if ObjectIdentifier(type) == Self.dictionaryKeys, !hasOtherKeys,
      firstKeys.map({ options.canFindKeys(of: $0) }) ?? true
    {
      // What was written before is not known, but whose keys those were.
      claimAll()
      markFlattened(type, below: nil)
      if let firstKeys { flattened?.keepFields(of: firstKeys) }
    }
    if firstKeys == nil { firstKeys = type } else { hasOtherKeys = true }
  }

  private func finishFlattened() throws {
    try checkAreFound(owners)
    flattened?.setClaimed(owners.keys)
    if let flattened, fields.keepsEqualValues { try fields.clear(flattened) }
  }

  /// Fields below a step are those of a flattened value, which may name fewer of them than are stored.
  func markFlattened(_ keys: (any CodingKey.Type)?, below step: PathStep?, isGone: Bool = false) {
    if flattened == nil { flattened = FlattenedFields(options: options) }
    flattened?.add(keys, below: step, isGone: isGone)
  }

  private func checkSize() throws {
    let size = fields.record.encodedByteCount
    guard size > options.limits.recordByteCount else { return }
    throw RecordCodingError(
      .tooLarge, "The record is larger than the limit; make the larger fields assets.",
      facts: .init(size: size, limit: options.limits.recordByteCount))
  }

  /// Keeps the first thing that went wrong in a call that cannot throw.
  func fail(_ error: any Error) { if fault == nil { fault = error } }

  /// The step for a container within a container.
  func step(_ key: any CodingKey, after above: PathStep?, prefix: String = "") -> PathStep {
    let step = PathStep(key, after: above, prefix: prefix)
    if step.depth > PathStep.maximumDepth { fail(tooDeep(step)) }
    return step
  }

  // MARK: places

  /// The field of a key; nil when the key has none.
  /// - Parameter goesOn: what the key had before remains.
  @inline(__always)
  func field(_ key: some CodingKey, _ above: PathStep?, goesOn: Bool = false) throws -> FieldTarget? {
    switch meaning(key, above) {
    case .field(let target):
      if mayCollide { try claim(target, goesOn: goesOn) }
      return target
    case .systemFields:
      hasSystemFieldsKey = true
      return nil
    case .recordName, .nothing: return nil
    }
  }

  /// Two paths with one field would overwrite each other.
  private func claim(_ target: FieldTarget, goesOn: Bool) throws {
    let path = target.path
    if let owner = owners.updateValue(path, forKey: target.field) {
      guard owner == path else {
        throw RecordCodingError(
          .keyCollision, "Two keys of the value have one field.", path: path,
          facts: .init(key: target.field, found: owner.joined(separator: ".")))
      }
      if !goesOn, flattened != nil { try takeBackFields(below: path) }
    }
    try checkIsFound(target, isOfEnum: target.above?.isOfEnum ?? isOfEnum)
  }

  /// A key is encoded once more, and the last counts: what a flattened value had there is taken back.
  private func takeBackFields(below path: [String]) throws {
    func isBelow(_ other: [String]) -> Bool { other.count > path.count && other.starts(with: path) }
    pending.removeAll { isBelow($0.target.path) || $0.target.path == path }
    pendingByField = pendingByField.filter { !isBelow($0.value.target.path) && $0.value.target.path != path }
    unmarked.removeAll { isBelow($0.target.path) || $0.target.path == path }
    for (field, owner) in owners where isBelow(owner) {
      owners[field] = nil
      try fields.takeBack(field)
    }
  }

  // MARK: writing

  /// Puts a value into its field.
  @inline(__always)
  func put(_ value: consuming Record.Value, _ key: some CodingKey, _ above: PathStep?) throws {
    if isPlainlyWritten, above == nil, isWritten(value, key.stringValue) { return }
    guard let target = try field(key, above) else { return try checkName(value, key, above) }
    if target.rule != nil { try target.checkEffect(on: value) }
    try store(value, target)
  }

  /// A property that is the record's name must not have become another one's: the value would be saved over the wrong record, and
  /// read back with the old name.
  private func checkName(_ value: Record.Value, _ key: some CodingKey, _ above: PathStep?) throws {
    // Onto a record the fields are asked for alone.
    if fields.keepsEqualValues || above != nil || !isRecordName(key.stringValue) { return }
    let name: String
    switch value {
    case .string(let text):
      if fields.isNamed(text) { return }
      // A name may have been given in small letters.
      if let id = UUID(uuidString: text), id == UUID(uuidString: fields.id.name) { return }
      name = text
    case .int(let number):
      name = String(number)
      if fields.isNamed(name) { return }
    default: return
    }
    throw RecordIdentity.renamed(fields.id, to: name)
  }

  /// What some rules make of a value that is plain.
  private func applyRule(_ value: Record.Value, _ target: FieldTarget) throws -> Record.Value {
    guard case .locationText? = target.rule else { return value }
    switch value {
    case .string(let text): return .location(try location(text, target))
    case .strings(let texts): return .locations(try texts.map { try location($0, target) })
    default: return value
    }
  }

  private func location(_ text: String, _ target: FieldTarget) throws -> Location {
    if let location = LocationText.location(of: text) { return location }
    throw target.error(.unsupportedValue, "The text is not latitude and longitude with a semicolon between them.")
  }

  /// Puts a value that is as its field has it into the record.
  func store(_ given: consuming Record.Value, _ target: FieldTarget) throws {
    ruleCheck?.seeField(target)
    note(target)
    let value = target.rule == nil ? given : try applyRule(given, target)
    let size = Self.variableByteCount(value)
    if size > 0 {
      if size > options.limits.recordByteCount {
        throw target.error(
          .tooLarge, "The field is larger than a record may be; make it an asset.",
          facts: .init(key: target.field, size: size, limit: options.limits.recordByteCount))
      }
      byteCount = byteCount.addingReportingOverflow(size).partialValue
    }
    do throws(DatabaseError) {
      if case .parent? = target.rule {
        guard case .reference(let reference) = value else {
          throw DatabaseError(.invalidArguments, "The parent of a record is a reference.")
        }
        fields.setParent(Record.Reference(reference.id))
      } else if case .encrypted? = target.rule {
        try fields.writeEncrypted(value, target.field)
        target.above?.markFields()
      } else {
        try fields.write(value, target.field)
        target.above?.markFields()
      }
    } catch { throw target.error(error) }
  }

  /// A flattened value without a single field gets one that says that it is there: else it would be nil.
  private func storeMark(of encoder: FieldEncoder, _ target: FieldTarget) throws {
    target.above?.markFields()
    if !encoder.step.hasFields {
      if encoder.step.hasPending { return unmarked.append(Pending(encoder: encoder, target: target)) }
      return try store(.int(1), target)
    }
    do throws(DatabaseError) { try fields.remove(target.field) } catch { throw target.error(error) }
  }

  /// Takes the field away, and with it those of a flattened value.
  /// - Parameters:
  ///   - type: what is nil here, if that is known.
  ///   - mayHaveKeys: whether that is a type with keys; a rule that says so goes before.
  func remove(
    _ key: some CodingKey, _ above: PathStep?, _ type: Any.Type? = nil, mayHaveKeys: @autoclosure () -> Bool
  ) throws {
    if isPlainlyWritten, above == nil, isWritten(nil, key.stringValue) { return }
    guard let target = try field(key, above) else { return }
    try remove(target, type, mayHaveKeys: mayHaveKeys() || target.rule != nil)
  }

  func remove(_ target: FieldTarget, _ type: Any.Type? = nil, mayHaveKeys: Bool) throws {
    note(target)
    do throws(DatabaseError) {
      switch target.rule {
      case .parent?: fields.setParent(nil)
      case .encrypted?: try fields.writeEncrypted(nil, target.field)
      default:
        try fields.remove(target.field)
        if mayHaveKeys, isFlattened(target) {
          let step = step(target.key, after: target.above, prefix: target.field + "_")
          markFlattened(keys(of: type), below: step, isGone: true)
        }
      }
    } catch { throw target.error(error) }
  }

  /// How many bytes texts and byte strings take, and about how many lists do; 0 for the small kinds.
  static func variableByteCount(_ value: borrowing Record.Value) -> Int {
    switch value {
    case .string(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    case .strings(let list): list.reduce(0) { $0 &+ $1.utf8.count }
    case .bytesList(let list): list.reduce(0) { $0 &+ $1.count }
    case .ints(let list): list.count
    case .doubles(let list): list.count &* 8
    case .dates(let list): list.count &* 8
    case .locations(let list): list.count &* 17
    case .references(let list): list.count &* 3
    default: 0
    }
  }

  // MARK: values of any type

  func encode<T: Encodable>(_ value: T, _ key: some CodingKey, _ above: PathStep?) throws {
    if isPlainlyWritten, above == nil, isPlainlyPut(value, key.stringValue) { return }
    guard let target = try field(key, above) else {
      if let leaf = plainLeaf(value) { try checkName(leaf, key, above) }
      return
    }
    try encode(value, target)
  }

  func encode<T: Encodable>(_ value: T, _ target: FieldTarget) throws {
    if let layer = options.layer, let made = try layer.fieldValue(of: value, forKey: target.field) {
      try store(made, target)
      return
    }
    // A list may be JSON although a record has a list for it.
    if !isJSONList(T.self, target), let leaf = try leaf(value, target) {
      if target.rule != nil { try target.checkEffect(on: leaf, of: T.self) }
      try store(leaf, target)
      return
    }
    if let referred = try referred(value, target) {
      try store(.reference(try reference(of: referred, target)), target)
      return
    }
    let encoder = FieldEncoder(self, target)
    if let format = assetFormat(target) { encoder.form = format }
    encoder.unorderedGroupCount = unorderedGroupCount(T.self)
    if isFlattened(target), TypeMemory.isOfEnum(value) { encoder.step.isOfEnum = true }
    try checkHidesNothing(value, encoder.step)
    try nesting(encoder.step) { try value.encode(to: encoder) }
    if encoder.isEmptyList { encoder.emptyList = try emptyList(T.self, target) }
    var result = try encoder.result()
    if encoder.form != .json, Self.isOfForm(result) {
      if case .value = result { try checkReadsBack(value, encoder) }
      let data = try propertyList(value, encoder.form, target)
      result = .value(.asset(storedPropertyList(of: value, encoder, result, data) ?? Asset(data: data)))
    }
    if case .json? = target.rule, case .value(let single) = result, T.self is any RawRepresentable.Type {
      try target.checkEffect(on: single, of: T.self)
    }
    try finish(encoder, result, target, T.self)
  }

  /// Whether a value becomes a property list where the option says so: with keys, and as a list of what a record has no list type for,
  /// which may be longer than a record.
  private static func isOfForm(_ result: FieldEncoder.Result) -> Bool {
    switch result {
    case .json: true
    case .value(.references), .value(.assets): false
    case .value(let value): value.elementCount != nil
    case .nothing, .flattened: false
    }
  }

  /// Whether this value gave a field to the record, be it an equal one: others may have been there before.
  func isOwn(_ field: String) -> Bool { !fields.keepsEqualValues || named.contains(field) || owners[field] != nil }

  /// The encoder of a field that a type fills when it likes.
  func pendingEncoder(_ key: some CodingKey, _ above: PathStep?) -> FieldEncoder {
    do {
      if let target = try field(key, above, goesOn: true) {
        if let known = pendingByField[target.field] { return known }
        let encoder = FieldEncoder(self, target)
        pendingByField[target.field] = encoder
        // It is finished after what it lies in.
        target.above?.hasPending = true
        pending.append(Pending(encoder: encoder, target: target))
        return encoder
      }
    } catch { fail(error) }
    // Nobody asks what is in it.
    return FieldEncoder(self, FieldTarget(field: "", key: key, above: above, rule: .ignored))
  }

  /// - Parameter type: of the value, if that is known.
  private func finish(
    _ encoder: FieldEncoder, _ result: FieldEncoder.Result, _ target: FieldTarget, _ type: Any.Type? = nil
  ) throws {
    switch result {
    case .nothing:
      if target.above != nil, isOfDictionary(target) {
        throw target.error(
          .unsupportedValue,
          "A dictionary whose keys are fields has none for nil: leave the key out, or store the dictionary as JSON.")
      }
      try remove(target, type, mayHaveKeys: target.rule != nil || isFlattened(target) && mayHaveKeys(type))
    case .value(let value):
      if case .reference? = target.rule { try target.checkEffect(on: value) }
      try store(value, target)
      markNoLongerFlattened(target, type)
    case .json(let text):
      let data = Data(text)
      markNoLongerFlattened(target, type)
      if assetFormat(target) != nil { try store(.asset(Asset(data: data)), target) } else { try store(.bytes(data), target) }
    case .flattened:
      if isOfDictionary(target) {
        throw target.error(.unsupportedValue, "A dictionary whose values have keys of their own cannot be flattened.")
      }
      markForms(of: type, target)
      try storeMark(of: encoder, target)
    }
  }

  /// Whether the key is a dictionary's, be it that a type encodes one in its own place: reading asks which keys there are.
  private func isOfDictionary(_ target: FieldTarget) -> Bool {
    ObjectIdentifier(type(of: target.key)) == Self.dictionaryKeys
  }

  /// A value that has one field may have been flattened when it was saved before: by its rule, or by an option where its type has
  /// keys.
  private func markNoLongerFlattened(_ target: FieldTarget, _ type: Any.Type?) {
    guard isFlattened(target) else { return }
    let keys = keys(of: type)
    if keys == nil, target.rule == nil { return markForms(of: type, target) }
    markFlattened(keys, below: step(target.key, after: target.above, prefix: target.field + "_"), isGone: true)
  }

  /// A value of one form or another may have had another one when it was saved before, whose fields would be read first.
  private func markForms(of type: Any.Type?, _ target: FieldTarget) {
    for keys in KeyProbe.forms(of: type, userInfo: userInfo) {
      markFlattened(keys, below: step(target.key, after: target.above, prefix: target.field + "_"))
    }
  }

  /// The keys of a type's values; nil where that is not known. Of an object there may be those of superclasses, too.
  private func keys(of type: Any.Type?) -> (any CodingKey.Type)? {
    type is AnyClass ? nil : KeyProbe.keys(of: type, userInfo: userInfo)
  }

  func mayHaveKeys(_ type: Any.Type?) -> Bool { type is AnyClass || !KeyProbe.hasNoKeys(type, userInfo: userInfo) }

  /// Whether the rule says so of a list. Lists of contents are lists of assets.
  func isJSONList(_ type: Any.Type, _ target: FieldTarget) -> Bool {
    switch target.rule {
    case .json?: type is any ListOfElements.Type
    case .asset?: type is any ListOfElements.Type && type != [Data].self && type != [URL].self && type != [Asset].self
    default: false
    }
  }

  /// The format, when the value becomes an asset.
  private func assetFormat(_ target: FieldTarget) -> RecordCodingOptions.AssetFormat? {
    if case .asset(let format)? = target.rule { return format }
    if target.rule == nil, case .asset(let format) = options.nested { return format }
    return nil
  }
}
