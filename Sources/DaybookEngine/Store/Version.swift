/// One version of the store, as readers see it. Raw memory: a reader that pinned it costs no reference count.
struct Version {
  /// The address of the store of this version; set when the version is queued for publication.
  var owner: UInt = 0
  /// One more than that of the version before it.
  var number: UInt64
  /// The position behind its last commit, or behind frames after it that change nothing. After a checkpoint of this version,
  /// replay starts there.
  var position: LogPosition
  /// The end of what it reads of the file. Its trees may refer to pages behind its position.
  var end: UInt64
  /// The frame number of its last commit; when that is durable, the version is published.
  var frameNumber: UInt64
  /// The pages of all trees, for the log budget.
  var pageCount: UInt64
  /// The bytes of the operations that the trees name.
  var liveByteCount: Int
  var roots: RootSet

  /// The counts are sums of what a file claims, and a forged file may claim anything. So they are clamped, and computations
  /// with them do not overflow.
  init(
    number: UInt64, position: LogPosition, end: UInt64, frameNumber: UInt64, pageCount: UInt64, pageBalance: Int = 0,
    liveByteCount: Int, roots: RootSet
  ) {
    self.number = number
    self.position = position
    self.end = end
    self.frameNumber = frameNumber
    self.pageCount = TreeRoot.sum(pageCount, pageBalance)
    self.liveByteCount = min(max(0, liveByteCount), Version.liveByteLimit)
    self.roots = roots
  }

  private static let liveByteLimit = 1 << 59

  var sequence: UInt64 { position.sequence }
}
