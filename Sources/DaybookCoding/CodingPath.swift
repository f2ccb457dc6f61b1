/// A step of a coding path below the value, with those above it. Fields of the value itself have none: their path is their key.
final class PathStep {
  let parent: PathStep?
  let key: any CodingKey
  let depth: Int
  /// What the fields of a flattened value have in front of their names.
  let prefix: String
  /// Whether a flattened value has at least one.
  private(set) var hasFields = false
  /// Something below is encoded later than the value itself.
  var hasPending = false
  /// What is below is a case of an enum, which is found by its field alone.
  var isOfEnum = false

  init(_ key: any CodingKey, after parent: PathStep?, prefix: String = "") {
    self.parent = parent
    self.key = key
    self.prefix = prefix
    depth = (parent?.depth ?? 0) + 1
  }

  /// A field was written here or below.
  func markFields() {
    var next: PathStep? = self
    while let step = next, !step.hasFields {
      step.hasFields = true
      next = step.parent
    }
  }

  /// How deep values may be nested in one record, so that no value can use up the stack.
  static let maximumDepth = 128
}

/// The coding path that ends with a step, and with a key after it.
func codingPath(_ step: PathStep?, _ key: (any CodingKey)? = nil) -> [any CodingKey] {
  var path: [any CodingKey] = []
  if let key { path.append(key) }
  var next = step
  while let step = next {
    path.append(step.key)
    next = step.parent
  }
  return path.reversed()
}

/// The same as texts, for errors.
func pathTexts(_ step: PathStep?, _ key: (any CodingKey)? = nil) -> [String] {
  RecordCodingError.texts(codingPath(step, key))
}

/// A place in a list, or a name that no type has declared.
struct PlainKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    stringValue = String(intValue)
    self.intValue = intValue
  }

  static let superKey = PlainKey(stringValue: "super")
}
