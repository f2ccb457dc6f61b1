extension Query {
  /// What became of one result when it became another: applied to the old one it gives the new one.
  ///
  /// Positions are as tables of user interfaces want them: of what goes in the old result, of what comes in the new one.
  ///
  ///     old   a  b  c  d            removed   1 (b)
  ///     new   c  a  e  d′           moved     2 → 0 (c)
  ///                                 inserted  2 (e)
  ///                                 updated   3 (d′)
  public struct Difference: Sendable {
    /// A record at a position of the new result.
    public struct Placed: Hashable, Sendable {
      /// Where it is in the new result.
      public let index: Int
      /// As it is now.
      public let record: Record
    }

    /// A record that is gone from the result.
    public struct Removal: Hashable, Sendable {
      /// Where it was in the old result.
      public let index: Int
      /// Which one.
      public let id: Record.ID
    }

    /// A record that has changed its place among those that stay.
    public struct Move: Hashable, Sendable {
      /// Where it was in the old result.
      public let from: Int
      /// Where it is in the new result.
      public let to: Int
      /// Which one; if it was changed, it is also among ``Difference/updated``.
      public let id: Record.ID
    }

    /// The records that are gone, by their positions in the old result.
    public let removed: [Removal]
    /// The records that came, by their positions in the new result.
    public let inserted: [Placed]
    /// The records that have changed places, as few as possible, by their positions in the new result.
    public let moved: [Move]
    /// The records that were in the old result and have been saved since, by their positions in the new result.
    public let updated: [Placed]
    /// How many records the new result has.
    public let count: Int
    private let oldCount: Int

    /// Whether the results are the same.
    public var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty }

    /// What became of a result, in which each record is once, as in that of every query.
    /// - Complexity: O(n) of both; where their orders are different, O(n log n).
    package init(from old: [Record], to new: [Record]) {
      var oldIndices: [Record.ID: Int] = Dictionary(minimumCapacity: old.count)
      for (index, record) in old.enumerated() { oldIndices[record.id] = index }
      var inserted: [Placed] = []
      var updated: [Placed] = []
      var stays = [Bool](repeating: false, count: old.count)
      // Of the records that stay, in their new order.
      var sources: [(from: Int, to: Int)] = []
      for (index, record) in new.enumerated() {
        if let from = oldIndices[record.id] {
          stays[from] = true
          sources.append((from, index))
          if old[from] != record { updated.append(Placed(index: index, record: record)) }
        } else {
          inserted.append(Placed(index: index, record: record))
        }
      }
      removed = old.indices.filter { !stays[$0] }.map { Removal(index: $0, id: old[$0].id) }
      let keeps = Self.longestAscent(sources.map(\.from))
      moved = sources.indices.filter { !keeps[$0] }.map { number in
        Move(from: sources[number].from, to: sources[number].to, id: new[sources[number].to].id)
      }
      self.inserted = inserted
      self.updated = updated
      count = new.count
      oldCount = old.count
    }

    /// The new result, made from the old one; nil where it shows that `records` is not the
    /// result that this is a difference from: by its length, or by the IDs where something is removed, moved or updated.
    public func applied(to records: [Record]) -> [Record]? {
      applied(to: records, inserted: inserted.map(\.record), updated: updated.map(\.record)) { $0.id == $1 }
    }

    /// The same of what was made of records.
    /// - Parameters:
    ///   - inserted: what was made of ``inserted``, in its order; `updated` in the same way.
    ///   - isOf: whether an element is that of a record, as far as it tells.
    package func applied<Element>(
      to old: [Element], inserted: [Element], updated: [Element], isOf: (Element, Record.ID) -> Bool
    ) -> [Element]? {
      guard old.count == oldCount else { return nil }
      var coming = [Element?](repeating: nil, count: count)
      var stays = [Bool](repeating: true, count: oldCount)
      for removal in removed {
        guard isOf(old[removal.index], removal.id) else { return nil }
        stays[removal.index] = false
      }
      for move in moved {
        guard isOf(old[move.from], move.id) else { return nil }
        stays[move.from] = false
        coming[move.to] = old[move.from]
      }
      for (placed, element) in zip(self.inserted, inserted) { coming[placed.index] = element }
      var rest = old.indices.lazy.filter { stays[$0] }.makeIterator()
      var result: [Element] = []
      result.reserveCapacity(count)
      for element in coming {
        if let element {
          result.append(element)
        } else {
          guard let index = rest.next() else { return nil }
          result.append(old[index])
        }
      }
      for (placed, element) in zip(self.updated, updated) {
        guard isOf(result[placed.index], placed.record.id) else { return nil }
        result[placed.index] = element
      }
      return result
    }

    /// Which of some different numbers are in one of their longest ascending runs, gaps allowed.
    private static func longestAscent(_ numbers: [Int]) -> [Bool] {
      // Where the best run of each length ends; nothing has changed its place in the usual case, and all are one run.
      var ends: [Int] = []
      var previous = [Int](repeating: -1, count: numbers.count)
      for (index, number) in numbers.enumerated() {
        var low = 0
        var high = ends.count
        if let last = ends.last, numbers[last] < number { low = high }
        while low < high {
          let middle = (low + high) / 2
          if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
        }
        if low > 0 { previous[index] = ends[low - 1] }
        if low == ends.count { ends.append(index) } else { ends[low] = index }
      }
      var result = [Bool](repeating: false, count: numbers.count)
      var index = ends.last ?? -1
      while index >= 0 {
        result[index] = true
        index = previous[index]
      }
      return result
    }
  }
}
