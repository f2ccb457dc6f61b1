#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// Orders by a key, which Foundation has on Apple's platforms only; see `NSPredicate+Format.swift` for how and why.
  extension NSSortDescriptor {
    /// An order by the values of a key.
    public convenience init(key: String?, ascending: Bool) { self.init(key: key, ascending: ascending, place: nil) }

    convenience init(key: String?, ascending: Bool, place: CLLocation?) {
      self.init(keyPath: \NSObject.self, ascending: ascending) { first, second in
        if let probe = first as? SortProbe {
          probe.key = key
          probe.place = place
          return .orderedSame
        }
        guard let key, let first = first as? CKRecord, let second = second as? CKRecord else { return .orderedSame }
        return Self.compare(first[key], second[key])
      }
    }

    /// Two values of records in memory; those that have no order are the same.
    private static func compare(
      _ first: (any CKRecordValueProtocol)?, _ second: (any CKRecordValueProtocol)?
    ) -> ComparisonResult {
      func order<T: Comparable>(_ first: T, _ second: T) -> ComparisonResult {
        first < second ? .orderedAscending : first > second ? .orderedDescending : .orderedSame
      }
      switch (first, second) {
      case (let a as String, let b as String): return order(a, b)
      case (let a as Date, let b as Date): return order(a, b)
      case (let a as NSNumber, let b as NSNumber): return a.compare(b)
      default: return .orderedSame
      }
    }

    /// The same for Daybook.
    /// - Throws: `invalidArguments` for an order by a path of Swift, which a record has not.
    func daybookSort() throws(DatabaseError) -> Query.Sort {
      let probe = SortProbe()
      _ = compare(probe, to: SortProbe())
      guard let key = probe.key else {
        throw DatabaseError(.invalidArguments, "An order of a query is made from a key.")
      }
      return Query.Sort(.field(key), ascending: ascending, distanceFrom: probe.place?.daybookLocation)
    }
  }

  /// What an order is asked with to hand out what it was made from.
  private final class SortProbe: NSObject {
    var key: String?
    var place: CLLocation?
  }

  /// An order by the distance from a place.
  public final class CKLocationSortDescriptor: NSSortDescriptor {
    /// The nearest first.
    public convenience init(key: String, relativeLocation: CLLocation) {
      self.init(key: key, ascending: true, place: relativeLocation)
    }
  }
#endif
