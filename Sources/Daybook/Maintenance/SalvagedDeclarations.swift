#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DaybookEngine

/// What the bodies of a damaged file mean: everything that its declarations say, wherever they are. They are gathered before the first
/// body is copied, because the place in front of a body may be the damaged one.
///
/// A number is a hash, so what was rolled back may have the number of what was committed. Committed declarations come first; of two
/// that have as good a claim to a number neither gets it: a body under the wrong shape would be another record.
struct SalvagedDeclarations {
  private struct Claim {
    var bytes: [UInt8]
    var isCommitted: Bool
    var isDisputed = false
  }

  let dictionary: ShapeDictionary

  /// - Parameter mask: bits of numbers that count, in tests.
  init(_ reader: SalvageReader, mask: UInt32) {
    dictionary = ShapeDictionary(mask: mask)
    var claims: [UInt32: Claim] = [:]
    var order: [UInt32] = []
    func take(_ declaration: ByteView, isCommitted: Bool) {
      guard Declaration.isSound(declaration) else { return }
      let number = Declaration.number(of: declaration) & mask
      guard let known = claims[number] else {
        claims[number] = Claim(bytes: declaration.array, isCommitted: isCommitted)
        order.append(number)
        return
      }
      if isCommitted == known.isCommitted {
        if !known.bytes.withView({ UTF8Order.equal($0, declaration) }) { claims[number]?.isDisputed = true }
      } else if isCommitted {
        claims[number] = Claim(bytes: declaration.array, isCommitted: true)
      }
    }
    reader.forEachOperation(of: OperationKind.declare.rawValue) { take($0, isCommitted: $1 == .commit) }
    // A checkpoint has what was committed.
    for declaration in SalvagedDeclarations.ofTrees(reader) { declaration.withView { take($0, isCommitted: true) } }
    // Never more than there is room for were committed.
    for isCommitted in [true, false] {
      for number in order {
        guard let claim = claims[number], claim.isCommitted == isCommitted, !claim.isDisputed else { continue }
        _ = claim.bytes.withView { dictionary.add($0) }
      }
    }
  }

  /// What the trees of declarations have, as far as it is whole.
  ///
  /// Of two checkpoints of a log, the declarations of one are the first of the other's. So pieces are put together wherever they are from,
  /// and where two say something else of one piece, its declaration is left out.
  private static func ofTrees(_ reader: SalvageReader) -> [[UInt8]] {
    var pieces: [Int: [Int: [UInt8]]] = [:]
    var disputed: Set<Int> = []
    reader.forEachRecord(ofRoot: Roots.declarations) { key, value in
      guard let place = DeclarationTree.place(key), value.count <= Declaration.pieceByteCount else { return }
      if let known = pieces[place.number]?[place.piece] {
        if !known.withView({ UTF8Order.equal($0, value) }) { disputed.insert(place.number) }
      } else {
        pieces[place.number, default: [:]][place.piece] = value.array
      }
    }
    var result: [[UInt8]] = []
    for (number, found) in pieces.sorted(by: { $0.key < $1.key }) where !disputed.contains(number) {
      var declaration: [UInt8] = []
      // A missing piece ends it: what is left is not sound, or has a number that no body names.
      for piece in 0..<found.count {
        guard let bytes = found[piece] else { break }
        declaration += bytes
      }
      result.append(declaration)
    }
    return result
  }
}

extension Database.UnreadableRecord {
  /// Nil for bytes that are no packed body, and for one whose declarations are known: something else is wrong with those.
  init?(_ body: ByteView, at place: Place, _ shapes: ShapeDictionary) {
    guard let facts = PackedBody.facts(of: body) else { return nil }
    do throws(BodyFault) {
      // The table is valid as long as the dictionary.
      defer { withExtendedLifetime(shapes) {} }
      let packed = try PackedBody(body, in: shapes.table)
      _ = try packed.plan(in: shapes.table)
      return nil
    } catch {
      guard error == .unknownDeclaration else { return nil }
    }
    name = facts.name
    modificationDate = Date(timeIntervalSinceReferenceDate: Double(bitPattern: facts.modification))
    creationDate = Date(timeIntervalSinceReferenceDate: Double(bitPattern: facts.creation))
    offset = Int(clamping: place.offset)
    byteCount = Int(place.byteCount)
  }
}
