import Daybook

/// One record while it is made from a value, or a value from it: what keys stand for, and how deeply values are nested.
///
/// All containers of the value refer to it. `EncodingScope` and `DecodingScope` add what is written and what is read.
class CodingScope {
  final let options: RecordCodingOptions
  final var userInfo: [CodingUserInfoKey: Any] { options.userInfo }
  /// Of the type, and of the options before them.
  final let rules: [String: FieldRule]
  private final let recordNameKey: String
  /// The path to this record within a graph.
  final let base: [String]
  /// Every key is the name of its field.
  final let isPlain: Bool
  /// A layer above has the names of its own for system fields and record name: here they are keys like others.
  private final let hasLayer: Bool
  private(set) final var depth = 0
  /// Where a type's own code threw, if nobody caught it since.
  private(set) final var failurePath: [String]?

  init(_ options: RecordCodingOptions, rules: [String: FieldRule], recordNameKey: String, base: [String] = []) {
    self.options = options
    self.rules = options.rules.isEmpty ? rules : rules.merging(options.rules) { _, own in own }
    self.recordNameKey = recordNameKey
    self.base = base
    hasLayer = options.hasLayer
    isPlain = self.rules.isEmpty && options.hasPlainKeys
  }

  // MARK: keys

  /// What a key stands for.
  enum Meaning {
    /// A field, or a flattened value.
    case field(FieldTarget)
    case systemFields
    case recordName
    /// A key that is ignored.
    case nothing
  }

  /// Whether a key of the value itself is that of the system fields or of the name, and so no field.
  @inline(__always)
  final func isOfSystem(_ name: String) -> Bool {
    if hasLayer { return false }
    let count = name.utf8.count
    return (count == 12 && name.equalsBytes(of: "systemFields"))
      || (count == recordNameKey.utf8.count && name.equalsBytes(of: recordNameKey))
  }

  /// Whether a key of the value itself is that of the record's name.
  @inline(__always)
  final func isRecordName(_ name: String) -> Bool { !hasLayer && name.equalsBytes(of: recordNameKey) }

  @inline(__always)
  final func meaning(_ key: some CodingKey, _ above: PathStep?) -> Meaning {
    let name = key.stringValue
    if above == nil {
      if !hasLayer {
        // By bytes: a key may be any text, and to compare texts Swift sorts the marks of a letter, in the square of their number.
        if name.equalsBytes(of: "systemFields") { return .systemFields }
        if name.equalsBytes(of: recordNameKey) { return .recordName }
      }
      if isPlain { return .field(FieldTarget(field: name, key: key, above: nil, rule: nil)) }
    }
    return meaningByRule(name, key, above)
  }

  private final func meaningByRule(_ name: String, _ key: any CodingKey, _ above: PathStep?) -> Meaning {
    var rule: FieldRule?
    var fallback: Record.Value?
    if !rules.isEmpty {
      rule = rules[above == nil ? name : pathTexts(above, key).joined(separator: ".")]
      if case .ignored? = rule { return .nothing }
      if case .default(let value)? = rule {
        // It says nothing about what becomes of a value.
        fallback = value
        rule = nil
      }
    }
    return .field(
      FieldTarget(
        field: (above?.prefix ?? "") + options.spelling(of: key), key: key, above: above, rule: rule,
        fallback: fallback))
  }

  /// Whether a value with keys has a field for each of them.
  final func isFlattened(_ target: FieldTarget) -> Bool {
    switch target.rule {
    case .flattened?: true
    case nil: if case .flattened = options.nested { true } else { false }
    default: false
    }
  }

  // MARK: nesting

  /// Runs a type's own code, which may come back here, so often and no more.
  final func nesting<R>(_ step: PathStep?, _ body: () throws -> R) throws -> R {
    guard depth < 2 * PathStep.maximumDepth, (step?.depth ?? 0) <= PathStep.maximumDepth else { throw tooDeep(step) }
    depth += 1
    defer { depth -= 1 }
    do {
      let result = try body()
      failurePath = nil
      return result
    } catch {
      if failurePath == nil { failurePath = pathTexts(step) }
      throw error
    }
  }

  final func tooDeep(_ step: PathStep?) -> RecordCodingError {
    RecordCodingError(
      .tooDeep, "Values are nested too deeply, or contain themselves.", path: Array((base + pathTexts(step)).prefix(8)),
      facts: .init(limit: PathStep.maximumDepth))
  }
}
