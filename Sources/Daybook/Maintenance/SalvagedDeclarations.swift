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
    reader.forEachOperation(of: OperationKind.declare.rawValue) { declaration, source in
      guard Declaration.isSound(declaration) else { return }
      let number = Declaration.number(of: declaration) & mask
      let isCommitted = source == .commit
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
    // Never more than there is room for were committed.
    for isCommitted in [true, false] {
      for number in order {
        guard let claim = claims[number], claim.isCommitted == isCommitted, !claim.isDisputed else { continue }
        _ = claim.bytes.withView { dictionary.add($0) }
      }
    }
  }
}

extension Database.UnreadableRecord {
  /// Nil for bytes that are no packed body, and for one whose declarations are known: something else is wrong with those.
  init?(_ body: ByteView, at place: Place, _ shapes: ShapeDictionary) {
    guard let facts = PackedBody.facts(of: body) else { return nil }
    do throws(BodyFault) {
      let packed = try PackedBody(body, in: shapes)
      _ = try packed.plan(in: shapes)
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
