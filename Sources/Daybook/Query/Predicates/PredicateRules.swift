#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What no database takes, and what CloudKit does not.
extension Query.Predicate {
  /// Why no database takes the predicate; nil when one may.
  var fault: DatabaseError? {
    if isTooDeep { return .tooDeepPredicate(limit: Self.maximumDepth) }
    do throws(DatabaseError) {
      try forEachCondition { (condition) throws(DatabaseError) in
        try condition.field.check()
        try condition.test.forEachConstant { (value) throws(DatabaseError) in
          do throws(DatabaseError) {
            if value.kind.isAsset {
              throw DatabaseError(.invalidArguments, "An asset is compared with nothing.", facts: .init(found: value.kind.name))
            }
            _ = try value.storable()
          } catch { throw error.adding { $0.key = condition.field.name } }
        }
      }
      return nil
    } catch { return error }
  }

  /// Whether LIKE has the wildcard of SQL and none of its own: it finds nothing then, as if all was well.
  package var hasWildcardOfSQL: Bool {
    var result = false
    forEachCondition { condition in
      guard case .text(.pattern, let pattern) = condition.test else { return }
      result = result || pattern.text.utf8.contains(UInt8(ascii: "%")) && !pattern.text.utf8.contains { "*?".utf8.contains($0) }
    }
    return result
  }

  /// Throws where CloudKit refuses the predicate.
  /// - Parameter kinds: the kinds that a key has had in records of the type; nil when it has had none.
  func requireCloudKit(
    _ kinds: (String) throws(DatabaseError) -> KindBits?
  ) throws(DatabaseError) {
    switch term {
    case .constant: return
    case .condition(let condition): try condition.requireCloudKit(kinds)
    case .and(let parts): for part in parts { try part.requireCloudKit(kinds) }
    case .or: throw DatabaseError(.invalidArguments, "Only AND compound predicates allowed")
    case .not(let part):
      switch part.term {
      case .and, .or: throw DatabaseError(.invalidArguments, "NOT is not allowed before a compound predicate.")
      case .condition(let condition):
        switch condition.test {
        case .words, .distance, .between:
          throw DatabaseError(
            .invalidArguments, "NOT is not allowed before a search of words, a distance or BETWEEN.",
            facts: .init(key: condition.field.name))
        default: break
        }
      default: break
      }
      try part.requireCloudKit(kinds)
    }
  }
}

extension Query.Field {
  /// Throws when no record can have the key.
  func check() throws(DatabaseError) {
    if system == nil, let fault = NameRules.faultOfKey(name) { throw fault }
  }
}

extension Query.Condition {
  fileprivate func requireCloudKit(_ kinds: (String) throws(DatabaseError) -> KindBits?) throws(DatabaseError) {
    func refusal(_ sentence: String) -> DatabaseError {
      DatabaseError(.invalidArguments, sentence, facts: .init(key: field.name))
    }
    if let system = field.system, !system.isOfCloudKit {
      throw refusal("CloudKit has no predicates on this field.")
    }
    if !options.isEmpty { throw refusal("CloudKit takes no options of texts but those of TOKENMATCHES.") }
    var isDistance = false
    switch test {
    case .isAbsent: throw refusal("CloudKit does not ask whether a field is absent.")
    case .text(.suffix, _), .text(.pattern, _): throw refusal("CloudKit has neither ENDSWITH nor LIKE.")
    case .distance(let comparison, _, _):
      isDistance = true
      if comparison != .less, comparison != .lessOrEqual { throw refusal("CloudKit compares a distance with < or <=.") }
    default: break
    }
    if !isDistance {
      try test.forEachConstant { (value) throws(DatabaseError) in
        switch value.kind {
        case .bytes, .bytesList, .location, .locations:
          throw refusal("CloudKit compares texts, numbers, dates and references; places by their distance.")
        default: break
        }
      }
    }
    guard field.system == nil, let found = try kinds(field.name) else { return }
    let isOnBytes = [FieldKind.bytes, .bytesList, .asset, .assets].contains {
      found.contains(KindBits($0, isEncrypted: false))
    }
    if isOnBytes { throw refusal("Bytes and assets cannot be queried.") }
    if case .contains = test, found.contains(KindBits(.string, isEncrypted: false)) {
      throw refusal("CloudKit has CONTAINS for lists only, and self CONTAINS for words.")
    }
  }
}

extension Query {
  /// Throws what no database takes.
  func check() throws(DatabaseError) {
    if let recordType, let fault = NameRules.faultOfType(recordType, isNew: false) { throw fault }
    if let fault = predicate.fault { throw fault }
    for step in sort {
      try step.field.check()
      if step.field.system == .text {
        throw DatabaseError(.invalidArguments, "Records are not sorted by all of their texts.")
      }
      if let place = step.place, (try? Record.Value.location(place).storable()) == nil {
        throw DatabaseError(
          .invalidArguments, "A value that is not a number (NaN) cannot be stored.", facts: .init(key: step.field.name))
      }
    }
    if let limit { try PageLimit.require(limit, in: zone) }
  }

  /// Throws what CloudKit does not take.
  func requireCloudKit(_ kinds: (String) throws(DatabaseError) -> KindBits?) throws(DatabaseError) {
    if recordType == nil {
      throw DatabaseError(.invalidArguments, "CloudKit has no query over several types.")
    }
    try predicate.requireCloudKit(kinds)
    for step in sort {
      func refusal(_ sentence: String) -> DatabaseError {
        DatabaseError(.invalidArguments, sentence, facts: .init(key: step.field.name))
      }
      if let system = step.field.system {
        if !system.isOfCloudKit { throw refusal("CloudKit has no order by this field.") }
        continue
      }
      guard let found = try kinds(step.field.name) else { continue }
      let isSortable = found.kinds(isEncrypted: false).allSatisfy {
        switch $0 {
        case .string, .int, .double, .date: step.place == nil
        case .location: true
        default: false
        }
      }
      if !isSortable { throw refusal("CloudKit sorts by texts, numbers, dates, and by the distance of places.") }
    }
  }
}
