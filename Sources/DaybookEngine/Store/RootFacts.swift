/// What a layer above has found in the trees of a version and keeps beside their roots, so that it is decoded once. It never changes:
/// other trees have others.
package protocol RootFacts: AnyObject, Sendable {}

/// Which versions of a store have which facts.
///
///     version   3      4      5      6      7
///     facts     └ A ────┘      └ B ───┘      └ C ─        each from the version on that made them
///
/// Versions lie in raw memory, and who has pinned one has no reference that counts: what is read below a pin might be counted only after
/// the pin is released (`VersionReference.store`). So facts are handed out by a lock, which makes of them a reference of the reader's own,
/// and outlive its pin. Only queries ask; a get has no use for them.
final class FactsOfVersions: Sendable {
  private typealias Entry = (first: UInt64, facts: (any RootFacts)?)
  private let entries = Locked<[Entry]>([])

  /// Those of a version that is pinned.
  func facts(of version: UInt64) -> (any RootFacts)? {
    entries.withLock { entries in entries.last { $0.first <= version }?.facts }
  }

  /// From this version on they are these. Returns how many are kept when they are new, else 0.
  func add(_ facts: (any RootFacts)?, from version: UInt64) -> Int {
    entries.withLock { entries in
      if let last = entries.last, last.facts === facts { return 0 }
      entries.append((version, facts))
      return entries.count
    }
  }

  /// Forgets those of which no version lives. The last stay: a version that is about to live may have them.
  /// - Parameter versions: all that live, asked for where there is something to forget.
  func keep(of versions: () -> some Collection<UInt64>) {
    // Released outside the lock.
    var gone: [Entry] = []
    entries.withLock { entries in
      guard entries.count > 1 else { return }
      let versions = versions()
      var kept: [Entry] = []
      for (entry, next) in zip(entries, entries.dropFirst()) {
        if versions.contains(where: { $0 >= entry.first && $0 < next.first }) { kept.append(entry) } else { gone.append(entry) }
      }
      kept.append(entries[entries.count - 1])
      entries = kept
    }
    gone.removeAll()
  }

  /// How many are kept.
  var count: Int { entries.withLock { $0.count } }
}
