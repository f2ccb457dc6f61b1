#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Synchronization

/// Whether an enum is coded as its raw value. An `encode(to:)` of its own may make something else of it, and a predicate, which
/// compares raw values, would find nothing.
enum RawForm {
  private static let known = Mutex<[ObjectIdentifier: Bool]>([:])

  /// True where no case of the type is at hand to ask.
  static func isUsual(_ type: Any.Type) -> Bool {
    guard let type = type as? any (RawRepresentable & Encodable).Type else { return true }
    let id = ObjectIdentifier(type)
    if let answer = known.withLock({ $0[id] }) { return answer }
    let answer = isUsual(of: type)
    known.withLock { $0[id] = answer }
    return answer
  }

  private static func isUsual<E: RawRepresentable & Encodable>(of type: E.Type) -> Bool {
    guard let one = sample(of: type), let raw = one.rawValue as? any Encodable else { return true }
    guard let own = text(of: one) else { return true }
    return own == text(of: raw)
  }

  private static func sample<E: RawRepresentable>(of type: E.Type) -> E? {
    if let type = type as? any CaseIterable.Type, let one = first(of: type) as? E { return one }
    return (type as? any RecordEnum.Type).flatMap { fallback(of: $0) as? E }
  }

  private static func first<C: CaseIterable>(of type: C.Type) -> Any? { type.allCases.first }
  private static func fallback<E: RecordEnum>(of type: E.Type) -> Any? { type.fallback }

  /// In a list, because some encoders have no other form of a single value.
  private static func text<T: Encodable>(of value: T) -> Data? { try? JSONEncoder().encode([value]) }
}
