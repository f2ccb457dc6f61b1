import DaybookEngine

extension Lineage {
  fileprivate init?(cell: ByteView) {
    guard cell.count == 8 else { return nil }
    self.init(cell.uint64(at: 0))
  }
}

/// The tree of lineages in one version: {first sequence} → lineage. Everything that asks for one asks here; only a compaction
/// walks the tree itself, to copy it.
struct LineageTree {
  private let reader: TreeReader
  private let root: TreeRoot

  init(_ reader: TreeReader, _ root: TreeRoot) {
    self.reader = reader
    self.root = root
  }

  /// The lineage that a commit belongs to.
  func lineage(of sequence: UInt64) throws(PageFault) -> Lineage? {
    let key = ByteBuffer(capacity: 16)
    key.append(uint64: (sequence &+ 1).byteSwapped)
    var cursor = reader.cursor(in: root)
    return try cursor.seek(before: key.view) ? Lineage(cell: cursor.value) : nil
  }

  /// The last lineage, and its first commit.
  func last() throws(PageFault) -> (lineage: Lineage?, first: UInt64)? {
    let key = ByteBuffer(capacity: 16)
    var cursor = reader.cursor(in: root)
    guard try cursor.last() else { return nil }
    return (Lineage(cell: cursor.value), try first(at: &cursor, key))
  }

  /// The first commit of the lineage under a cursor.
  private func first(at cursor: inout Cursor, _ key: ByteBuffer) throws(PageFault) -> UInt64 {
    cursor.key(into: key)
    guard key.count == 8 else { throw reader.fault(in: root) }
    return key.view.bigEndianUInt64(at: 0)
  }

  /// Whether a lineage is one of this history, and not its last. Costs a walk over all lineages.
  func hasEnded(_ lineage: Lineage?) throws(PageFault) -> Bool {
    guard let lineage else { return false }
    return try end(of: lineage).next != nil
  }

  /// Whether there is a lineage, and the first commit of the one after it. None is what commits before the first lineage have.
  private func end(of lineage: Lineage?) throws(PageFault) -> (isFound: Bool, next: UInt64?) {
    let key = ByteBuffer(capacity: 16)
    var cursor = reader.cursor(in: root)
    var isFound = lineage == nil
    while try cursor.next() {
      if isFound {
        return (true, try first(at: &cursor, key))
      }
      isFound = Lineage(cell: cursor.value) == lineage
    }
    return (isFound, nil)
  }
}

// MARK: of a store

extension LineageTree {
  /// The lineage of a store's last commit, if it could be read.
  enum Last {
    case unreadable
    case read(Lineage?)
  }

  static func last(in store: Store) -> Last {
    guard let pin = try? store.beginRead() else { return .unreadable }
    defer { store.endRead(pin) }
    do throws(PageFault) {
      guard let last = try LineageTree(pin.reader, pin.root(Roots.lineages)).last() else { return .read(nil) }
      return last.lineage.map { .read($0) } ?? .unreadable
    } catch { return .unreadable }
  }

  /// The last commit, up to `known`, that this file and the caller's history share, if the caller's last one was of a lineage. Zero if
  /// the file does not know that lineage: too little is safe.
  static func lastCommon(with last: Last, upTo known: UInt64, in store: Store) -> UInt64 {
    guard case .read(let lineage) = last, let pin = try? store.beginRead() else { return 0 }
    defer { store.endRead(pin) }
    do throws(PageFault) {
      let end = try LineageTree(pin.reader, pin.root(Roots.lineages)).end(of: lineage)
      return end.isFound ? min(known, end.next.map { $0 &- 1 } ?? pin.sequence) : 0
    } catch { return 0 }
  }
}
