/// The payload of a checkpoint frame: where replay starts, and the roots that hold everything before.
///
///     offset  size  field
///          0    48  copy of the file header
///         48     8  freeze: offset of the first frame that the roots do not contain
///         56     8  freeze: its frame number
///         64     8  freeze: commit sequence of the last commit that the roots contain
///         72     8  freeze: header checksum of the frame before it
///         80     8  pages of all trees
///         88     8  root count
///         96  16×n  roots: {u64 page, u64 records}
struct CheckpointContents: Equatable {
  var freezeOffset: UInt64
  var freezeNumber: UInt64
  var freezeSequence: UInt64
  var freezePrevious: UInt64
  var pageCount: UInt64
  var roots: [TreeRoot]

  init(
    freezeOffset: UInt64, freezeNumber: UInt64, freezeSequence: UInt64, freezePrevious: UInt64, pageCount: UInt64,
    roots: [TreeRoot]
  ) {
    self.freezeOffset = freezeOffset
    self.freezeNumber = freezeNumber
    self.freezeSequence = freezeSequence
    self.freezePrevious = freezePrevious
    self.pageCount = pageCount
    self.roots = roots
  }

  /// Reads the payload of the checkpoint frame at `offset`; nil when it says what no checkpoint there can say.
  init?(_ payload: ByteView, at offset: UInt64) {
    guard payload.count >= 96 else { return nil }
    freezeOffset = payload.uint64(at: 48)
    freezeNumber = payload.uint64(at: 56)
    freezeSequence = payload.uint64(at: 64)
    freezePrevious = payload.uint64(at: 72)
    pageCount = payload.uint64(at: 80)
    let count = payload.uint64(at: 88)
    guard count <= UInt64(RootSet.count), payload.count == 96 + Int(count) * 16 else { return nil }
    roots = []
    for index in 0..<Int(count) {
      let field = 96 + index * 16
      roots.append(TreeRoot(reference: payload.uint64(at: field), count: payload.uint64(at: field + 8)))
    }
    guard freezeOffset <= offset, freezeNumber > 0, freezeNumber < FrameHeader.limit,
      freezeSequence < FrameHeader.limit, pageCount < FrameHeader.limit >> 20
    else { return nil }
    // A root lies before its checkpoint, at a whole page; a tagged reference would be followed into memory.
    for root in roots where root.reference != 0 {
      guard root.reference % UInt64(Page.byteCount) == 0, root.reference < offset else { return nil }
    }
  }

  func append(to buffer: ByteBuffer, header: FileHeader) {
    header.appendMeaningful(to: buffer)
    buffer.append(uint64: freezeOffset)
    buffer.append(uint64: freezeNumber)
    buffer.append(uint64: freezeSequence)
    buffer.append(uint64: freezePrevious)
    buffer.append(uint64: pageCount)
    buffer.append(uint64: UInt64(roots.count))
    for root in roots {
      buffer.append(uint64: root.reference)
      buffer.append(uint64: root.count)
    }
  }
}

/// The trees that a store keeps by number; the layer above gives them meaning.
package struct RootSet: Sendable, Equatable {
  package static let count = 8
  var roots: InlineArray<8, TreeRoot> = .init(repeating: .empty)
  package init() {}

  package subscript(_ index: Int) -> TreeRoot {
    get { roots[index] }
    set { roots[index] = newValue }
  }

  var array: [TreeRoot] { (0..<RootSet.count).map { roots[$0] } }
  init(_ array: [TreeRoot]) {
    for (index, root) in array.prefix(RootSet.count).enumerated() { roots[index] = root }
  }

  package static func == (left: RootSet, right: RootSet) -> Bool { left.array == right.array }
}
