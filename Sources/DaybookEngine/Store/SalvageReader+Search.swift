/// Operations among damaged bytes: those that match their checksums, wherever they begin. A checksum includes the place, so only
/// an operation of this file at this offset passes.
///
///     ├─ op ─┤├─ op ─┤├─ ▒▒▒ ─┤├─ op ─┤▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒├─ op ─┤├─ op ─┤
///      chain ─────────────────────────► search ─────────► chain ──────►
///
/// As long as each operation leads to the next, one checksum each is computed. Elsewhere every byte may be the first of an
/// operation, and one in twenty looks like it, with a length of up to 16 MB at random: computing all their checksums would take
/// quadratic time. So a search is for short ones first, then for longer ones in what is still a gap, and each has a budget.
extension SalvageReader {
  /// The operations of a range, in their order.
  /// - Parameter keepsRolledBack: whether those before a rollback count, too.
  /// - Returns: the operations after the last rollback, and the lowest number from which on one takes back operations; nil without one.
  func operationsThatHold(in range: Range<Int>, keepsRolledBack: Bool = false) -> (places: [Place], takeBack: Int?) {
    var found = operations(in: range, payloads: 0..<SalvageReader.longSearch)
    var gapStart = range.lowerBound
    var long: [Found] = []
    func searchGap(before end: Int) {
      guard end - gapStart >= SalvageReader.longSearch else { return }
      long += operations(in: gapStart..<end, payloads: SalvageReader.longSearch..<SalvageReader.longestOperation)
    }
    for operation in found {
      searchGap(before: Int(operation.place.offset))
      gapStart = operation.end
    }
    searchGap(before: range.upperBound)
    if !long.isEmpty { found = (found + long).sorted { $0.place.offset < $1.place.offset } }
    var result: [Place] = []
    var takeBack: Int?
    for operation in found {
      if operation.kind == Operation.rollbackKind {
        // If operations are missing, it is unknown which ones a rollback took back: keep none of them.
        if !keepsRolledBack { result.removeAll() }
        takeBack = min(takeBack ?? .max, firstTakenBack(by: operation.place))
      } else {
        result.append(operation.place)
      }
    }
    return (result, takeBack)
  }

  /// The number from which on a rollback takes back the operations of its transaction.
  func firstTakenBack(by rollback: Place) -> Int {
    guard let bytes = try? log.operation(at: rollback), Operation.payload(bytes).count == 4 else { return 0 }
    return Int(Operation.payload(bytes).uint32(at: 0))
  }

  private struct Found {
    let place: Place
    let kind: UInt8
    var end: Int { Int(place.offset) + Int(place.byteCount) }
  }

  /// Payloads from here on are searched last.
  private static let longSearch = 64 << 10
  /// No store writes a longer one, and one that lies in a hole would be taken into memory.
  private static let longestOperation = 1 << 30

  /// Follows chains, and searches where there is none.
  /// - Parameter payloads: the lengths of payload that a search takes for possible.
  private func operations(in range: Range<Int>, payloads: Range<Int>) -> [Found] {
    var result: [Found] = []
    // How many bytes may be read for checksums.
    var budget = 64 * min(range.count, 1 << 30) + max(0, min(range.count, 1 << 62) - 1 << 30) + (1 << 20)
    var position = range.lowerBound
    var isChain = true
    var search = log.search(from: position)
    while position + Operation.headerByteCount <= range.upperBound, budget > 0 {
      let head = head(at: position, before: range.upperBound)
      if isChain {
        isChain = false
        guard let head else { continue }
        budget -= head.byteCount
        if let found = operation(head, at: position) {
          result.append(found)
          position = found.end
          isChain = true
          continue
        }
        // Only its payload may be damaged, or its checksum.
        let next = position + head.byteCount
        if let head = self.head(at: next, before: range.upperBound) {
          budget -= head.byteCount
          if operation(head, at: next) != nil {
            position = next
            isChain = true
            continue
          }
        }
      }
      guard let head, isKind[Int(head.kind)], payloads.contains(head.byteCount - Operation.headerByteCount) else {
        position += 1
        // The header of an operation may begin in a hole, with zeros.
        let end = search.end(ofHoleFrom: position, limit: range.upperBound)
        position = max(position, end - Operation.headerByteCount + 1)
        continue
      }
      budget -= head.byteCount
      if let found = operation(head, at: position) {
        result.append(found)
        position = found.end
        isChain = true
      } else {
        position += 1
      }
    }
    return result
  }

  /// Kind and length of the operation at a position, if one that matches its checksum begins there.
  func operation(at position: Int, before end: Int) -> (byteCount: Int, kind: UInt8)? {
    guard let head = head(at: position, before: end), operation(head, at: position) != nil else { return nil }
    return (head.byteCount, head.kind)
  }

  private func operation(_ head: Operation.Head, at position: Int) -> Found? {
    let seed = FrameHeader.seed(salt: log.salt, offset: UInt64(position))
    let end = UInt64(position + head.byteCount)
    guard log.checksum(of: UInt64(position) + 8..<end, seed: seed) == head.checksum else { return nil }
    return Found(place: Place(offset: UInt64(position), byteCount: UInt32(head.byteCount)), kind: head.kind)
  }

  /// What looks like the header of an operation that fits.
  private func head(at position: Int, before end: Int) -> Operation.Head? {
    guard end - position >= Operation.headerByteCount,
      let bytes = log.view(position..<min(position + Operation.longHeaderByteCount, end)), let head = Operation.Head(bytes),
      head.kind > 0, head.byteCount <= end - position, head.byteCount <= SalvageReader.longestOperation
    else { return nil }
    return head
  }
}
