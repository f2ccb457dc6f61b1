/// One version of the store, as readers see it. Raw memory: a reader that pinned it costs no reference count.
struct StateRecord {
  /// The address of the store that it is a version of; set when it is queued to be shown.
  var owner: UInt = 0
  var version: UInt64
  /// Behind its last commit, or behind frames that show nothing: a checkpoint of this version is followed by replay from
  /// there.
  var position: LogPosition
  /// Nothing of the file from here on is read. Its trees may refer to pages behind its position.
  var end: UInt64
  /// Frame number of the last commit in it: durable means published.
  var frameNumber: UInt64
  /// Pages of all trees, for the log budget.
  var pageCount: UInt64
  /// Bytes of the operations that the trees name.
  var liveByteCount: Int
  var roots: RootSet

  /// The counts are sums of what a file claims, and a forged one may claim anything: kept within what can be, so that nothing
  /// that is computed with them overflows.
  init(
    version: UInt64, position: LogPosition, end: UInt64, frameNumber: UInt64, pageCount: UInt64, pageBalance: Int = 0,
    liveByteCount: Int, roots: RootSet
  ) {
    self.version = version
    self.position = position
    self.end = end
    self.frameNumber = frameNumber
    self.pageCount = TreeRoot.sum(pageCount, pageBalance)
    self.liveByteCount = min(max(0, liveByteCount), StateRecord.liveByteLimit)
    self.roots = roots
  }

  private static let liveByteLimit = 1 << 59

  var sequence: UInt64 { position.sequence }
}
