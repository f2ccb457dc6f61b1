import DaybookEngine

/// A query that was checked for a version of a database, with everything that is made once for all records.
struct QueryPreparation {
  /// Which records are looked at. It is decided once, before the first is read; whatever it is, each record that is read is tested.
  /// Indirect: to hand it on is one reference more, where the names and ranges of an index are a dozen.
  indirect enum Access {
    /// None: the predicate lets nothing pass.
    case none
    /// All of the type, in the order of their last saves.
    case scan
    /// Those that have the names that are asked for: in each zone the keys of those that are there.
    case named([CandidateNames])
    /// Those that have entries in ranges of an index, in the order of their last saves.
    case candidates(IndexChoice)
    /// Those that an index has, in its order. It may turn out to be more work than looking at all: then they are scanned and sorted.
    case order(IndexChoice)
  }

  var query: Query
  var zones: [Zone.ID]
  /// The trees of `zones`, in the same order.
  var trees: [ZoneTrees]
  let filter: BodyFilter
  /// The indexes of values and of places that may be used.
  let planners: [IndexPlanner]
  /// That of words, if it may be.
  let words: WordPlanner?
  var access = Access.scan

  consuming func reading(_ access: Access) -> QueryPreparation {
    self.access = access
    return self
  }

  /// The index that is used, if one is.
  var choice: IndexChoice? {
    switch access {
    case .none, .scan, .named: nil
    case .candidates(let choice), .order(let choice): choice
    }
  }

  /// The records are in the order of their last saves.
  var isInOrderOfSaves: Bool { query.sort.isEmpty }
}
