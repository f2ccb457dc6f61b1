import Daybook

/// Where a key's value goes, and how.
struct FieldTarget {
  let field: String
  let key: any CodingKey
  let above: PathStep?
  let rule: FieldRule?
  /// What is decoded where there is no field.
  var fallback: Record.Value?

  var path: [String] { pathTexts(above, key) }

  func error(
    _ code: RecordCodingError.Code, _ message: String, facts: DatabaseError.Facts? = nil, cause: (any Error)? = nil
  ) -> RecordCodingError {
    RecordCodingError(code, message, path: path, facts: facts ?? .init(key: field), cause: cause)
  }

  /// What the record said to a key or a value.
  func error(_ error: DatabaseError) -> RecordCodingError {
    var facts = error.facts
    facts.key = field
    // Which of the two the record refuses shows with a value that it never refuses.
    var probe = try? Record(type: "Probe")
    let isKey = (try? probe?.set(.int(0), forKey: self.field)) == nil
    return RecordCodingError(
      isKey ? .invalidKey : .unsupportedValue,
      isKey
        ? "The key is not a valid name of a field; a rule or a strategy for keys can map it." : "No field can hold the value.",
      path: path, facts: facts, cause: error)
  }
}
