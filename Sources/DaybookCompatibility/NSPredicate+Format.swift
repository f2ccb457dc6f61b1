#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// Predicates from a format, which Foundation has on Apple's platforms only.
  ///
  /// Foundation's own class is extended, and not replaced by one of the same name, which `NSCompoundPredicate` and `filtered(using:)`
  /// would not take. Its initialisers for formats are there but unavailable, and the compiler prefers those that are. No
  /// property can be added to the class, so the predicate lies in its block: the block hands it out to a `PredicateProbe`, and tells
  /// of a record whether it is accepted.
  extension NSPredicate {
    /// A predicate from a format such as `self contains %@`; `%@` takes what a field can hold, a `CKRecord` or its ID, `%K` a key.
    ///
    /// A format that is none is refused with `invalidArguments` when it is used; Apple's Foundation ends the program.
    public convenience init(format: String, _ arguments: Any...) { self.init(format: format, argumentArray: arguments) }

    /// The same with the arguments in an array.
    public convenience init(format: String, argumentArray: [Any]?) {
      self.init(
        parsed: Result { () throws(DatabaseError) in
          var values: [any RecordValueConvertible] = []
          for argument in argumentArray ?? [] { values.append(try PredicateArgument.value(argument)) }
          return try Query.Predicate(format: format, arguments: values)
        })
    }

    /// A Daybook predicate.
    public convenience init(_ predicate: Query.Predicate) { self.init(parsed: .success(predicate)) }

    private convenience init(parsed: Result<Query.Predicate, DatabaseError>) {
      self.init { object, _ in
        switch object {
        case let probe as PredicateProbe:
          probe.found = parsed
          return false
        case let record as CKRecord:
          guard let predicate = try? parsed.get(), let record = try? record.daybookRecord() else { return false }
          return predicate.matches(record, dialect: .cloudKit)
        default: return false
        }
      }
    }

    /// The same for Daybook.
    /// - Throws: `invalidArguments` for a format that is none, for one that is nested too deeply, and for a block, which no
    ///   database can look into.
    func daybookPredicate() throws(DatabaseError) -> Query.Predicate { try daybookPredicate(depth: 0) }

    private func daybookPredicate(depth: Int) throws(DatabaseError) -> Query.Predicate {
      if let compound = self as? NSCompoundPredicate {
        // Its own levels may be more than the predicate has: an AND in an AND is one of Daybook's.
        guard depth < Self.maximumNesting else {
          throw DatabaseError(
            .invalidArguments, "The predicate is nested too deeply.", facts: .init(limit: Self.maximumNesting))
        }
        var parts: [Query.Predicate] = []
        for part in compound.subpredicates { parts.append(try part.daybookPredicate(depth: depth + 1)) }
        switch compound.compoundPredicateType {
        case .and: return .all(parts)
        case .or: return .any(parts)
        case .not: return parts.first.map { !$0 } ?? .false
        @unknown default: throw Self.isBlock
        }
      }
      if isEqual(NSPredicate(value: true)) { return .true }
      if isEqual(NSPredicate(value: false)) { return .false }
      let probe = PredicateProbe()
      _ = evaluate(with: probe)
      guard let found = probe.found else { throw Self.isBlock }
      return try found.get()
    }

    private static var maximumNesting: Int { 64 }

    private static var isBlock: DatabaseError {
      DatabaseError(.invalidArguments, "A predicate of a query is made from a format, not from a block.")
    }
  }

  /// What a predicate is asked with to hand out what it was made from.
  private final class PredicateProbe {
    var found: Result<Query.Predicate, DatabaseError>?
  }

  /// The value of an argument.
  private enum PredicateArgument {
    static func value(_ argument: Any) throws(DatabaseError) -> any RecordValueConvertible {
      switch argument {
      case let id as CKRecord.ID: return try id.daybookID
      case let record as CKRecord: return try record.recordID.daybookID
      case let list as [Any]:
        if list.isEmpty { return Record.Value.strings([]) }
        var values: [Record.Value] = []
        for element in list { values.append(try value(element).recordValue) }
        guard let whole = Record.Value(list: values) else {
          throw DatabaseError(.invalidArguments, "The elements of a list are all of one kind.")
        }
        return whole
      default: return try FieldContent.plain(argument)
      }
    }
  }
#endif
