import Daybook
import Synchronization

/// How keys are spelled as fields, and which key of a type a spelling is of.
///
/// Encoder and decoder go the same way, from the key to its field. The way back is asked for only where the key is not said: for the case
/// of an enum, and for which of two keys a field belongs to. There every key that may have the spelling is tried, forwards.
extension RecordCodingOptions {
  /// The field of a key, without what is in front of it.
  func spelling(of key: some CodingKey) -> String {
    if case .asIs = keys { return key.stringValue }
    return Self.isData(type(of: key)) ? key.stringValue : field(of: key.stringValue)
  }

  /// Whether any text is a key, as in dictionaries: then there is no telling which ones there are.
  static func isOpen(_ type: any CodingKey.Type) -> Bool { type.init(stringValue: "\u{0}")?.stringValue == "\u{0}" }

  /// Whether keys are part of the value, and are stored as they are: of two texts that are spelled alike one would be lost.
  static func isData(_ type: any CodingKey.Type) -> Bool { type != PlainKey.self && isOpen(type) }

  /// Whether every key of a type is found by its spelling. Functions of one's own cannot be undone, but cases can be listed.
  func canFindKeys(of type: any CodingKey.Type) -> Bool {
    if case .custom = keys { return Self.isData(type) || type is any CaseIterable.Type }
    return true
  }

  /// The key of a type with a spelling; nil where there is none, or where it is not found.
  func key<Key: CodingKey>(spelled text: String, of type: Key.Type) -> Key? {
    func spelled(_ name: String) -> Key? {
      guard let key = Key(stringValue: name), spelling(of: key).equalsBytes(of: text) else { return nil }
      return key
    }
    if case .asIs = keys { return spelled(text) }
    if Self.isData(type) { return spelled(text) }
    if let all = type as? any CaseIterable.Type {
      return Self.cases(of: all).lazy.compactMap { $0 as? Key }.first { spelling(of: $0).equalsBytes(of: text) }
    }
    for name in KeyNames.names(of: type, spelled: text) {
      if let key = spelled(name) { return key }
    }
    guard case .custom = keys else { return nil }
    for part in KeyNames.parts(of: text) {
      for name in KeyNames.names(of: type, spelled: part) {
        if let key = spelled(name) { return key }
      }
    }
    return nil
  }

  /// Whether a type has a key with a spelling.
  func hasKey(spelled text: String, of type: any CodingKey.Type) -> Bool {
    func isFound<Key: CodingKey>(_ type: Key.Type) -> Bool { key(spelled: text, of: type) != nil }
    return isFound(type)
  }

  /// The key that a key is taken for by its spelling.
  func keyFound(for key: any CodingKey) -> (any CodingKey)? {
    func found<Key: CodingKey>(_ key: Key) -> (any CodingKey)? { self.key(spelled: spelling(of: key), of: Key.self) }
    return found(key)
  }

  /// All keys of a type that lists them.
  static func cases<C: CaseIterable>(of type: C.Type) -> [Any] { type.allCases.map { $0 } }
}

/// The names of keys that may have a spelling: capitals where words begin, or in a whole word, with and without the underscore.
private enum KeyNames {
  private struct Question: Hashable {
    let type: ObjectIdentifier
    let text: String
  }

  /// Answers are the same each time, and a type is asked about the same fields with each record.
  private static let known = Mutex<[Question: [String]]>([:])
  private static let maximumCount = 4096

  /// Those of a type.
  static func names<Key: CodingKey>(of type: Key.Type, spelled text: String) -> [String] {
    let question = Question(type: ObjectIdentifier(type), text: text)
    if let names = known.withLock({ $0[question] }) { return names }
    let names = candidates(text).filter { Key(stringValue: $0) != nil }
    known.withLock {
      // Keys of dictionaries are asked about, too.
      if $0.count >= maximumCount { $0.removeAll() }
      $0[question] = names
    }
    return names
  }

  /// What functions may have put something in front of, or written in capitals.
  static func parts(of text: String) -> [String] {
    let ends = [text.startIndex] + text.indices.filter { text[$0] == "_" }.map { text.index(after: $0) }
    return ends.flatMap { start in
      let part = String(text[start...])
      return [part, part.prefix(1).lowercased() + part.dropFirst(), part.lowercased()]
    }
  }

  private static func candidates(_ text: String) -> [String] {
    let words = text.split(separator: "_", omittingEmptySubsequences: false)
    // The number of names doubles with each word, and underscores between capitals multiply it once more.
    let mayMix = words.count <= 3
    let isLong = words.count > 8
    var names = [""]
    for (index, word) in words.enumerated() {
      let forms = forms(of: word)
      names = names.flatMap { name -> [String] in
        if index == 0 { return isLong ? [String(word)] : forms }
        let joined = forms.dropFirst().map { name + $0 }
        if isLong, let first = joined.first { return [first] }
        return mayMix || joined.isEmpty ? joined + forms.map { name + "_" + $0 } : joined
      }
    }
    return mayMix ? names : names + [text]
  }

  /// A word, with a capital in front, and in capitals as far as its letters go.
  private static func forms(of word: Substring) -> [String] {
    let letters = word.prefix { $0.isLetter }
    guard let first = letters.first else { return [String(word)] }
    let forms = [String(word), first.uppercased() + word.dropFirst()]
    return letters.count == 1 ? forms : forms + [letters.uppercased() + word.dropFirst(letters.count)]
  }
}
