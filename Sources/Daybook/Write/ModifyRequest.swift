import DaybookEngine

/// One request of many records while it is performed: zone by zone, with a result for each item.
///
/// References are asked about when all items of their zone are done, because a child may come before its parent. What is found
/// then is the fault of one item. In an atomic zone everything is rolled back. Elsewhere the zone is rolled back, too, and done
/// again without the items at fault, until nothing is left without its target: a record whose parent was refused is refused in
/// the next round. There are as many rounds as such refusals follow from each other.
///
/// Always true: an item without a result has not been performed, or was rolled back.
struct ModifyRequest {
  struct Zone {
    let id: Daybook.Zone.ID
    var items: [Int] = []
  }

  private let records: [Record]
  private let ids: [Record.ID]
  private let policy: SavePolicy
  /// Records whose assets could not be taken in before the turn.
  private let unprepared: [Int: DatabaseError]
  /// In the order in which the request names them first. Items are numbered: records first, then deletions.
  private(set) var zones: [Zone] = []
  private var saves: [Result<Record, DatabaseError>?]
  private var deletes: [Result<Void, DatabaseError>?]

  init(_ records: [Record], _ ids: [Record.ID], _ policy: SavePolicy, _ unprepared: [Int: DatabaseError] = [:]) {
    self.unprepared = unprepared
    self.records = records
    self.ids = ids
    self.policy = policy
    saves = .init(repeating: nil, count: records.count)
    deletes = .init(repeating: nil, count: ids.count)
    var positions: [Daybook.Zone.ID: Int] = [:]
    for item in 0..<records.count + ids.count {
      let zone = id(of: item).zone
      if let position = positions[zone] {
        zones[position].items.append(item)
      } else {
        positions[zone] = zones.count
        zones.append(Zone(id: zone, items: [item]))
      }
    }
  }

  private func id(of item: Int) -> Record.ID { item < records.count ? records[item].id : ids[item - records.count] }

  var result: ModifyResult {
    let unreached = DatabaseError(.internalError, "A record of the request was not looked at.")
    return ModifyResult(
      saves: zip(records, saves).map { .init(id: $0.id, result: $1 ?? .failure(unreached)) },
      deletes: zip(ids, deletes).map { .init(id: $0, result: $1 ?? .failure(unreached)) })
  }

  // MARK: performing

  private struct GoesBack: Error {}

  /// Performs the items of one zone.
  mutating func perform(_ items: [Int], isAtomic: Bool, _ context: WriteContext) throws(DatabaseError) {
    let cyclic = context.database.options.dialect == .cloudKit ? itemsInCircles(items) : []
    var excluded: Set<Int> = []
    for item in cyclic {
      let id = id(of: item)
      fail(item, DatabaseError(.invalidArguments, "Cycle detected in record graph", facts: .init(zone: id.zone, name: id.name)))
      excluded.insert(item)
    }
    if isAtomic, !cyclic.isEmpty { return spoil(items) }
    while true {
      var faults: [ReferenceViolation] = []
      var isDone = false
      do {
        try context.savepoint {
          let hasFailed = try performEach(items.filter { !excluded.contains($0) }, context)
          if isAtomic, hasFailed { throw GoesBack() }
          faults = try context.referenceViolations(since: context.pending.start)
          if !faults.isEmpty { throw GoesBack() }
          isDone = true
        }
      } catch is GoesBack {
        for fault in blamed(faults) {
          fail(fault.item, fault.error)
          excluded.insert(fault.item)
        }
      } catch { throw DatabaseError(untyped: error) }
      if isDone { return }
      if isAtomic { return spoil(items) }
    }
  }

  /// The violations with the item that caused each. A target that the request itself deletes, and others need, is found from
  /// both ends: the deletion is refused, and then nothing is missing.
  private func blamed(_ faults: [ReferenceViolation]) -> [ReferenceViolation] {
    let kept = Set(faults.lazy.filter { $0.item >= records.count }.compactMap(\.error.facts.target))
    return faults.filter { $0.item >= records.count || $0.error.facts.target.map { !kept.contains($0) } ?? true }
  }

  /// Performs items one after the other; true when one failed.
  private mutating func performEach(_ items: [Int], _ context: WriteContext) throws(DatabaseError) -> Bool {
    var hasFailed = false
    context.pending.start = context.pending.mark
    for item in items {
      context.pending.item = item
      do throws(DatabaseError) {
        if item < records.count {
          if let error = unprepared[item] { throw error }
          saves[item] = .success(try context.save(records[item], policy: policy))
        } else {
          try context.delete(ids[item - records.count])
          deletes[item - records.count] = .success(())
        }
      } catch {
        if error.concernsWholeCommit || context.pending.unfinished != nil { throw error }
        hasFailed = true
        fail(item, error)
      }
    }
    return hasFailed
  }

  private mutating func fail(_ item: Int, _ error: DatabaseError) {
    if item < records.count {
      saves[item] = .failure(error)
    } else {
      deletes[item - records.count] = .failure(error)
    }
  }

  /// All items of a zone that was rolled back get `batchRequestFailed`, except those at fault.
  private mutating func spoil(_ items: [Int]) {
    for item in items {
      if item < records.count {
        if case .failure = saves[item] { continue }
      } else if case .failure = deletes[item - records.count] {
        continue
      }
      let id = id(of: item)
      fail(item, .init(.batchRequestFailed, facts: .init(zone: id.zone, name: id.name)))
    }
  }

  // MARK: circles

  /// The records to save that point at each other in a circle, by references that do something. Tarjan's strongly
  /// connected components, with a list instead of recursion.
  private func itemsInCircles(_ items: [Int]) -> [Int] {
    var position: [Record.ID: Int] = [:]
    let saved = items.filter { $0 < records.count }
    for (index, item) in saved.enumerated() { position[records[item].id] = index }
    let targets = saved.map { records[$0].actingTargets.compactMap { position[$0] } }
    var number = [Int](repeating: -1, count: saved.count)
    var low = number
    var isOpen = [Bool](repeating: false, count: saved.count)
    var open: [Int] = []
    var path: [(node: Int, next: Int)] = []
    var count = 0
    var found: [Int] = []
    for start in saved.indices where number[start] < 0 {
      path.append((start, 0))
      while let step = path.last {
        let node = step.node
        if step.next == 0 {
          number[node] = count
          low[node] = count
          count += 1
          open.append(node)
          isOpen[node] = true
        }
        if step.next < targets[node].count {
          path[path.count - 1].next += 1
          let target = targets[node][step.next]
          if number[target] < 0 {
            path.append((target, 0))
          } else if isOpen[target] {
            low[node] = min(low[node], number[target])
          }
          continue
        }
        path.removeLast()
        if let above = path.last { low[above.node] = min(low[above.node], low[node]) }
        if low[node] == number[node] {
          var members: [Int] = []
          while let last = open.popLast() {
            isOpen[last] = false
            members.append(last)
            if last == node { break }
          }
          if members.count > 1 || targets[node].contains(node) { found += members.map { saved[$0] } }
        }
      }
    }
    return found.sorted()
  }
}

extension Record {
  /// Where its parent and its references with an action point.
  fileprivate var actingTargets: [Record.ID] {
    var targets: [Record.ID] = []
    if let parent { targets.append(parent.id) }
    for key in keys {
      switch self[key] as Value? {
      case .reference(let reference): if reference.action != .none { targets.append(reference.id) }
      case .references(let list): targets += list.lazy.filter { $0.action != .none }.map(\.id)
      default: break
      }
    }
    return targets
  }
}
