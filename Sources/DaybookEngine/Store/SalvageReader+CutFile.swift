/// Parts whose commit is missing or cut: the last bytes of a file that was cut short.
///
///     p4  p5  p6 ▒▒▒▒            the rest of p6 and the commit that named p4 to p6 are missing
///     └ first part: flags 0      what stands before it belongs to other transactions, which ended
///
/// All of it was durable, so this was not an unfinished tail. Without the commit it is unknown whether the transaction was
/// later rolled back to a savepoint, or as a whole: the report calls it a commit of which a part was found. Where a frame of
/// another kind follows (a note, at the latest when the file is closed: `Store+TakeBack`), it was rolled back, and nothing is lost.
extension SalvageReader {
  /// Visits what is valid of a transaction, or of an image, that has lost its end.
  func visitUnfinished(_ walk: Walk, _ visit: (Commit) throws(StoreError) -> Void) throws(StoreError) {
    let sequence = walk.sequence + 1
    if generation > 1, walk.sequence == 0 {
      if walk.imagePieces.isEmpty { return }
      losses.add(sequence...sequence)
      for range in walk.imagePieces { try visitPieces(range, sequence, isImage: true, visit) }
      return
    }
    guard let first = walk.parts.lastIndex(where: { !$0.hasParts }), !walk.missesParts, !walk.partsAreOver else { return }
    losses.add(sequence...sequence)
    try visitInOrder(Array(walk.parts[first...]), sequence, visit)
  }

  /// The parts of a commit that has some but whose list is lost: a transaction's parts follow each other, and the first has no
  /// flag. Nil if one may be missing.
  func partsWithoutList(of commit: FrameHeader, _ walk: Walk) -> [FrameHeader]? {
    guard commit.hasParts, !commit.isImage, !walk.missesParts, !log.isPayloadValid(commit),
      let first = walk.parts.lastIndex(where: { !$0.hasParts })
    else { return nil }
    return Array(walk.parts[first...])
  }

  /// The parts that a commit with a valid list names, as far as there are any of them; and whether all are there.
  func partsOfList(_ commit: FrameHeader, _ walk: Walk) -> (frames: [FrameHeader], areAll: Bool)? {
    guard commit.hasParts, !commit.isImage, log.isPayloadValid(commit),
      let payload = log.payload(of: commit, limit: PartList.encodedByteCount), let list = PartList(payload)
    else { return nil }
    let frames = walk.parts.filter { $0.number >= list.firstNumber }
    return (frames, frames.first?.number == list.firstNumber && UInt64(frames.count) == list.count)
  }

  /// Visits the operations of frames of one incomplete commit, in their order.
  /// - Parameter areAll: no frame of it is missing between them, nor before the first.
  func visitInOrder(
    _ frames: [FrameHeader], areAll: Bool = true, _ sequence: UInt64, _ visit: (Commit) throws(StoreError) -> Void
  ) throws(StoreError) {
    var (places, rest) = areAll ? operationsInOrder(of: frames) : ([], frames.map { pieces(of: $0) })
    // So many operations have the numbers that the transaction gave them; how many are missing before later ones is unknown.
    var numberedCount = places.count
    for range in rest {
      let found = operationsThatHold(in: range)
      if let first = found.takeBack {
        numberedCount = min(numberedCount, first)
        places.removeSubrange(numberedCount...)
      }
      places += found.places
    }
    if places.isEmpty { return }
    if losses.partialSequences.last != sequence { losses.partialSequences.append(sequence) }
    try visit(Commit(sequence: sequence, operations: LoggedOperations(places: places, log: log), isWhole: false))
  }

  /// The operations of frames, one after the other, up to the first invalid one, without those that were rolled back; and the
  /// ranges from there on.
  private func operationsInOrder(of frames: [FrameHeader]) -> (places: [Place], rest: [Range<Int>]) {
    var places: [Place] = []
    for (index, frame) in frames.enumerated() {
      let range = pieces(of: frame)
      var position = range.lowerBound
      while let found = operation(at: position, before: range.upperBound) {
        let place = Place(offset: UInt64(position), byteCount: UInt32(found.byteCount))
        if found.kind == Operation.rollbackKind {
          places.removeSubrange(min(firstTakenBack(by: place), places.count)...)
        } else {
          places.append(place)
        }
        position += found.byteCount
      }
      if position < Int(clamping: frame.end) {
        return (places, [position..<range.upperBound] + frames[(index + 1)...].map { pieces(of: $0) })
      }
    }
    return (places, [])
  }
}
