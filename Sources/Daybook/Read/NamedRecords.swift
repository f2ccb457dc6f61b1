import DaybookEngine

/// Records for which a query asks by their names: they are looked up, and no other is read.
extension ReadView {
  /// The records of a plan's zones that have one of the names that its predicate allows; nil where that is any name, or where looking
  /// at all records is not more work.
  func namedRecords(_ plan: QueryPreparation, _ stop: QueryStop?) throws(DatabaseError) -> [CandidateNames]? {
    guard let names = plan.query.predicate.recordNames(database.options.dialect) else { return nil }
    var total: UInt64 = 0
    for trees in plan.trees {
      if let type = plan.query.recordType { total += try count(ofType: type, in: trees) } else { total += trees.byName.count }
    }
    let (asked, isTooMany) = names.count.multipliedReportingOverflow(by: plan.zones.count)
    let most = min(IndexChoice.largestCount, max(64, total / IndexChoice.lookupCost))
    if isTooMany || UInt64(asked) > (database.options.prefersIndexes ? IndexChoice.largestCount : most) { return nil }
    let buffer = ByteBuffer(capacity: 32)
    var result: [CandidateNames] = []
    for trees in plan.trees {
      let found = CandidateNames()
      for (index, name) in names.enumerated() {
        if index % 256 == 255 { try checkStop(stop) }
        try asDatabaseError { () throws(PageFault) in
          try name.withKeyView { (name) throws(PageFault) in
            let key = NameKey.view(of: name, in: buffer)
            if try reader.value(key, in: trees.byName) != nil { found.append(key) }
          }
        }
      }
      result.append(found)
    }
    return result
  }
}

extension Query.Predicate {
  /// Names of which each record that passes has one; nil where it may have any.
  fileprivate func recordNames(_ dialect: Query.Dialect) -> [String]? {
    switch term {
    case .constant(let isTrue): return isTrue ? nil : []
    case .condition(let condition): return condition.recordNames(dialect)
    case .not: return nil
    case .or(let parts):
      var all: [String] = []
      for part in parts {
        guard let some = part.recordNames(dialect) else { return nil }
        all += some
      }
      return all
    case .and(let parts):
      return parts.compactMap { $0.recordNames(dialect) }.min { $0.count < $1.count }
    }
  }
}

extension Query.Condition {
  fileprivate func recordNames(_ dialect: Query.Dialect) -> [String]? {
    let isName = field.system == .recordName
    // CloudKit's equality of texts does not see letters' case, and names differ by it.
    guard field.system == .recordID || isName && dialect != .cloudKit && options.isEmpty else { return nil }
    func name(_ value: Record.Value) -> String? {
      switch value {
      case .string(let name) where isName: name
      case .reference(let reference) where !isName: reference.id.name
      // Equal to none.
      default: nil
      }
    }
    switch test {
    case .compare(.equal, .value(let value)): return [value].compactMap(name)
    case .isIn(let values): return values.compactMap(name)
    default: return nil
    }
  }
}
