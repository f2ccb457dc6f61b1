import Daybook
import Synchronization

/// What is found out about types once and not for each value.
enum TypeMemory {
  // MARK: names

  private static let names = Mutex<[ObjectIdentifier: String]>([:])

  /// The bare name of a type. The runtime makes it each time from the name that the linker has.
  static func name<T>(of type: T.Type) -> String {
    let id = ObjectIdentifier(type)
    if let known = names.withLock({ $0[id] }) { return known }
    let name = String(describing: type)
    names.withLock { $0[id] = name }
    return name
  }

  // MARK: system fields

  private final class Slot: Sendable {
    let type = Atomic<UInt>(0)
  }

  /// Types that drop system fields, each at a slot that follows from its address. One that another has taken the slot of is
  /// only found out again.
  private static let dropping = (0..<64).map { _ in Slot() }

  @inline(__always)
  private static func slot<T>(of type: T.Type) -> (slot: Slot, id: UInt) {
    let id = UInt(bitPattern: ObjectIdentifier(type))
    return (dropping[Int(truncatingIfNeeded: (id &>> 4 ^ id &>> 10) & 63)], id)
  }

  /// The setter that this module gives to types without one was called: no value of the type will ever keep its system fields.
  static func dropsSystemFields<T>(_ type: T.Type) {
    let (slot, id) = slot(of: type)
    slot.type.store(id, ordering: .relaxed)
  }

  /// Whether the type is known to keep none, so that none have to be made: four allocations and a checksum for each
  /// value (row: coding-decode).
  static func isKnownToDropSystemFields<T>(_ type: T.Type) -> Bool {
    let (slot, id) = slot(of: type)
    return slot.type.load(ordering: .relaxed) == id
  }
}
