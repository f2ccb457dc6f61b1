extension Query {
  /// How a query is answered: what is read, what is tested, and how it is put in order. A value, for people and programs.
  public struct Plan: Hashable, Codable, Sendable {
    /// Where the records come from.
    public enum Access: String, Hashable, Codable, Sendable {
      /// Every record of the type in the zones is read, in the order of the last saves.
      case scan
      /// Records that an index names are read.
      case index
      /// Nothing is read: no record can pass.
      case none
    }

    /// How the records get into their order.
    public enum Ordering: String, Hashable, Codable, Sendable {
      /// As they are read: in the order of their last saves.
      case asRead
      /// They come from the index in their order.
      case index
      /// All that pass are sorted.
      case sort
      /// The first of the order are kept while the others are read, as many as the limit.
      case top
    }

    /// Where the records come from.
    public var access: Access
    /// The key whose index is used; of a search in all texts the keys of all of them, with commas between. `recordName` where records are
    /// looked up by the names that are asked for.
    public var index: String?
    /// What the entries of the index are made of.
    public var indexKind: IndexKind?
    /// The record type; nil for all.
    public var recordType: String?
    /// The zones that are looked at.
    public var zones: [Zone.ID]
    /// How many records are read at most. Where an index gives the order, how many entries it has: a walk over it that finds hardly any
    /// record gives up, and all records of the type are read.
    public var recordCount: Int
    /// What each of them is tested for; nil when all pass.
    public var filter: Predicate?
    /// How they get into their order.
    public var ordering: Ordering
    /// The steps of the order.
    public var sort: [Sort]
    /// How many records the result has at most.
    public var limit: Int?
    /// What the query names and the database does not have: then it finds nothing, or too much, without an error.
    public var warnings: [Warning] = []
    /// The type's indexes on fields that the query names, of which it makes no use, each with the reason.
    public var unused: [UnusedIndex] = []
  }
}

extension Query.Plan {
  private enum CodingKeys: String, CodingKey {
    case access, index, indexKind, recordType, zones, recordCount, filter, ordering, sort, limit, warnings, unused
  }

  /// Reads what was encoded. Without warnings and unused indexes, as earlier builds wrote it, it has none.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    access = try container.decode(Access.self, forKey: .access)
    index = try container.decodeIfPresent(String.self, forKey: .index)
    indexKind = try container.decodeIfPresent(IndexKind.self, forKey: .indexKind)
    recordType = try container.decodeIfPresent(String.self, forKey: .recordType)
    zones = try container.decode([Zone.ID].self, forKey: .zones)
    recordCount = try container.decode(Int.self, forKey: .recordCount)
    filter = try container.decodeIfPresent(Query.Predicate.self, forKey: .filter)
    ordering = try container.decode(Ordering.self, forKey: .ordering)
    sort = try container.decode([Query.Sort].self, forKey: .sort)
    limit = try container.decodeIfPresent(Int.self, forKey: .limit)
    warnings = try container.decodeIfPresent([Query.Warning].self, forKey: .warnings) ?? []
    unused = try container.decodeIfPresent([UnusedIndex].self, forKey: .unused) ?? []
  }
}

extension Query.Plan: CustomStringConvertible {
  /// The plan in a few lines, then a line for each unused index and each warning.
  public var description: String {
    var lines: [String] = []
    let place = zones.count == 1 ? "zone \(zones[0])" : "\(zones.count) zones"
    switch access {
    case .index:
      let kind = indexKind.map { $0 == .value ? "" : "\($0.rawValue) " } ?? ""
      lines.append(
        "\(kind)index of \(recordType ?? "").\(index ?? ""), \(recordCount) entries in \(place)"
          + (ordering == .asRead ? ", in the order of their last saves" : ""))
    case .none: lines.append("read nothing")
    case .scan:
      lines.append(
        "scan \(recordCount) records\(recordType.map { " of type \($0)" } ?? "") in \(place), in the order of their last saves")
    }
    if let filter { lines.append("filter \(filter)") }
    switch ordering {
    case .index:
      lines.append(
        "in the order " + sort.map(\.description).joined(separator: ", ") + (limit.map { ", stop after \($0)" } ?? ""))
    case .asRead: if let limit { lines.append("stop after \(limit)") }
    case .sort: lines.append("sort by " + sort.map(\.description).joined(separator: ", "))
    case .top: lines.append("keep the first \(limit ?? 0) by " + sort.map(\.description).joined(separator: ", "))
    }
    lines += unused.map(\.description) + warnings.map { "warning: \($0)" }
    return lines.joined(separator: "\n")
  }
}
