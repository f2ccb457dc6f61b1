/// The byte locks of one file that lives in memory, kept as the operating system keeps them: per open description.
///
/// Not thread safe by itself; the disk that owns the file holds its own lock around every call.
package struct LockTable {
  private var owners: [LockByte: Owners] = [:]

  private enum Owners {
    case shared(Set<Int>)
    case exclusive(Int)
  }

  package init() {}

  /// Takes a lock for a description, or changes the strength of the lock it holds; false when another lock is in the way.
  package mutating func take(_ byte: LockByte, _ strength: LockStrength, for description: Int) -> Bool {
    switch (owners[byte], strength) {
    case (nil, .exclusive):
      owners[byte] = .exclusive(description)
    case (nil, .shared):
      owners[byte] = .shared([description])
    case (.exclusive(let owner), _) where owner != description:
      return false
    case (.exclusive, .exclusive):
      break
    case (.exclusive, .shared):
      owners[byte] = .shared([description])
    case (.shared(let sharing), .shared):
      owners[byte] = .shared(sharing.union([description]))
    case (.shared(let sharing), .exclusive):
      guard sharing.subtracting([description]).isEmpty else { return false }
      owners[byte] = .exclusive(description)
    }
    return true
  }

  /// Whether another description holds a lock on the byte.
  package func isHeld(_ byte: LockByte, byOthersThan description: Int) -> Bool {
    switch owners[byte] {
    case nil: false
    case .exclusive(let owner): owner != description
    case .shared(let sharing): !sharing.subtracting([description]).isEmpty
    }
  }

  package mutating func release(_ byte: LockByte, of description: Int) {
    switch owners[byte] {
    case nil: break
    case .exclusive(let owner):
      if owner == description { owners[byte] = nil }
    case .shared(var sharing):
      sharing.remove(description)
      owners[byte] = sharing.isEmpty ? nil : .shared(sharing)
    }
  }

  package mutating func releaseAll(of description: Int) {
    for byte in Array(owners.keys) { release(byte, of: description) }
  }
}
