#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// Which rules of a type are for none of its keys, found out while a value of the type is encoded.
///
/// A rule without a key has no effect: of a misspelt `.encrypted` the property would be stored in plain. Which keys a type has is
/// known from the types of the keys that its containers ask for, so a property that is nil has its key, too. Types whose keys may be any
/// text accept every rule.
///
/// Once all rules of a type have their keys, other values are not looked at where these cannot differ in that (``TypeMemory/Rules``).
final class RuleCheck {
  private let rules: [String]
  private let recordType: String
  /// The types of the keys, by the path of the value that has them; of the value itself that is empty.
  private var keyTypes: [String: [any CodingKey.Type]] = [:]
  /// The paths of what is in a field of its own.
  private var stored: Set<String> = []

  /// - Throws: `ruleWithoutKey` for a rule of the key that is the record's name, which is no field: `.encrypted` would hide nothing.
  init(_ rules: [String], recordType: String, recordNameKey: String) throws(RecordCodingError) {
    self.rules = rules.sorted()
    self.recordType = recordType
    if rules.contains(where: { UTF8Order.equal($0, recordNameKey) }) {
      throw refusal("A rule in fieldRules is for the key that is the record's name, which is no field.", recordNameKey)
    }
  }

  /// The rules that need a key: of a superclass that is left out nothing is stored, whether it is asked for or not.
  static func checked(_ rules: [String: FieldRule]) -> [String] {
    rules.compactMap { key, rule in
      if case .ignored = rule, key == PlainKey.superKey.stringValue { return nil }
      return key
    }
  }

  /// A value asked for a container whose keys are fields.
  func seeKeys(_ type: any CodingKey.Type, of step: PathStep?) {
    keyTypes[pathTexts(step).joined(separator: "."), default: []].append(type)
  }

  /// A key has got its field.
  func seeField(_ target: FieldTarget) { stored.insert(target.path.joined(separator: ".")) }

  private enum Answer { case hasKey, hasNone, isNotFlattened, unknown }

  private func answer(_ rule: String) -> Answer {
    var above = ""
    var rest = rule[...]
    while true {
      guard let types = keyTypes[above] else { return stored.contains(above) ? .isNotFlattened : .unknown }
      if hasKey(rest, types, in: above) { return .hasKey }
      guard let dot = rest.firstIndex(of: "."), hasKey(rest[..<dot], types, in: above) else { return .hasNone }
      above += (above.isEmpty ? "" : ".") + rest[..<dot]
      rest = rest[rest.index(after: dot)...]
    }
  }

  private func hasKey(_ name: Substring, _ types: [any CodingKey.Type], in above: String) -> Bool {
    if types.contains(where: { $0.init(stringValue: String(name)) != nil }) { return true }
    // No type of keys has that of a superclass, which has a field of its own or none.
    guard name == PlainKey.superKey.stringValue else { return false }
    let path = above.isEmpty ? String(name) : "\(above).\(name)"
    return stored.contains(path) || keyTypes[path] != nil
  }

  /// After the whole value was encoded.
  /// - Returns: whether every rule is known to have its key; not while what a key lies in is nil.
  /// - Throws: `ruleWithoutKey` for the first rule without.
  func finish() throws(RecordCodingError) -> Bool {
    var isComplete = true
    for rule in rules {
      switch answer(rule) {
      case .hasKey: break
      case .unknown: isComplete = false
      case .hasNone:
        throw refusal("A rule in fieldRules is for a key that the type does not have; keys are spelled as in CodingKeys.", rule)
      case .isNotFlattened:
        throw refusal(
          "A rule in fieldRules is for a key within a value that has a single field: only flattened values have one for each key.",
          rule)
      }
    }
    return isComplete
  }

  private func refusal(_ sentence: String, _ rule: String) -> RecordCodingError {
    RecordCodingError(.ruleWithoutKey, sentence, facts: .init(recordType: recordType, key: rule))
  }
}

extension FieldTarget {
  /// Refuses a rule that would have no effect on a value which has a form of its own, as a text or a number.
  func checkEffect(on value: Record.Value, of type: Any.Type = Any.self) throws {
    switch rule {
    case .json?:
      throw error(.unsupportedValue, "The rule json is for lists and values with keys: put the value into a struct.")
    case .asset?:
      // The files of URLs are assets, other addresses texts as everywhere.
      if type == URL.self || type == [URL].self || value.elementCount == 0 { return }
      switch value {
      case .asset, .assets: return
      default:
        throw error(
          .unsupportedValue, "The rule asset is for bytes, files, lists and values with keys: put the value into a struct.")
      }
    case .reference?:
      switch value {
      case .reference, .references: return
      default: throw error(.unsupportedValue, "The rule reference is for values that are RecordEncodable, references and IDs.")
      }
    default: return
    }
  }
}
