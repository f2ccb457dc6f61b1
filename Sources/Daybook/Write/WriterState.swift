import DaybookEngine

/// What a database remembers between write transactions. Belongs to the holder of the turn.
final class WriterState: @unchecked Sendable {
  /// Lineages of commits.
  @safe @exclusivity(unchecked) var lineages = LineageSource()
  /// Change tags that this open gives.
  @safe @exclusivity(unchecked) var tags: ChangeTagSource
  /// The transaction that is under way, while its closure runs.
  @safe @exclusivity(unchecked) var context: WriteContext?
  /// What the schema is known to have.
  @safe @exclusivity(unchecked) var knownShapes = KnownShapes()
  /// Finds the declarations that bodies are packed with.
  let packer = BodyPacker()
  let userID: [UInt8]?
  let deviceID: [UInt8]?
  let scratch = ByteBuffer(capacity: 512)

  init(options: Database.Options) {
    tags = ChangeTagSource(random: options.random)
    userID = options.userID.map { Array($0.utf8) }
    deviceID = options.deviceID.map { Array($0.utf8) }
  }

  /// What the schema and the dictionary are known to have may have been rolled back.
  func forgetShapes() {
    knownShapes.removeAll()
    packer.removeAll()
  }

  /// Other processes have written since the last transaction here.
  func followOthers(_ transaction: StoreTransaction) throws(LogFault) {
    // What stood in the schema may have gone with a commit that a recovery threw away.
    forgetShapes()
    try lineages.choose(transaction)
  }
}
