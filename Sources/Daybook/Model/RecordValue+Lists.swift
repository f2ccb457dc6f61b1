// What a value that is a list can tell without its elements' kind.

extension Record.Value {
  /// How many elements a list has; nil for a value that is none.
  package var elementCount: Int? {
    switch self {
    case .strings(let list): list.count
    case .ints(let list): list.count
    case .doubles(let list): list.count
    case .bytesList(let list): list.count
    case .dates(let list): list.count
    case .locations(let list): list.count
    case .assets(let list): list.count
    case .references(let list): list.count
    default: nil
    }
  }

  /// The same list in an order that depends on its elements only: a set that is saved again is no other value. Elements without
  /// an order stay as they are.
  package var sortedList: Record.Value {
    switch self {
    case .strings(let list): .strings(list.sorted { UTF8Order.compare($0, $1) < 0 })
    case .ints(let list): .ints(list.sorted())
    case .doubles(let list): .doubles(list.sorted())
    case .dates(let list): .dates(list.sorted())
    case .bytesList(let list): .bytesList(list.sorted { $0.lexicographicallyPrecedes($1) })
    case .references(let list): .references(list.sorted { $0.id < $1.id })
    default: self
    }
  }
}
