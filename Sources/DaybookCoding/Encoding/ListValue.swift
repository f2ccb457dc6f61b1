#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// Values of one kind and the list that they make.
enum ListValue {
  /// The list of these values; nil when there are none, they are of several kinds, or lists themselves.
  static func list(of values: [Record.Value]) -> Record.Value? {
    guard let first = values.first else { return nil }
    switch first {
    case .string: return all(values) { if case .string(let value) = $0 { value } else { nil } }.map { .strings($0) }
    case .int: return all(values) { if case .int(let value) = $0 { value } else { nil } }.map { .ints($0) }
    case .double: return all(values) { if case .double(let value) = $0 { value } else { nil } }.map { .doubles($0) }
    case .bytes: return all(values) { if case .bytes(let value) = $0 { value } else { nil } }.map { .bytesList($0) }
    case .date: return all(values) { if case .date(let value) = $0 { value } else { nil } }.map { .dates($0) }
    case .location: return all(values) { if case .location(let value) = $0 { value } else { nil } }.map { .locations($0) }
    case .asset: return all(values) { if case .asset(let value) = $0 { value } else { nil } }.map { .assets($0) }
    case .reference: return all(values) { if case .reference(let value) = $0 { value } else { nil } }.map { .references($0) }
    default: return nil
    }
  }

  private static func all<T>(_ values: [Record.Value], _ part: (Record.Value) -> T?) -> [T]? {
    var result: [T] = []
    result.reserveCapacity(values.count)
    for value in values {
      guard let part = part(value) else { return nil }
      result.append(part)
    }
    return result
  }

  /// An element of a list, which has so many.
  static func element(_ index: Int, of value: Record.Value) -> Record.Value {
    switch value {
    case .strings(let list): .string(list[index])
    case .ints(let list): .int(list[index])
    case .doubles(let list): .double(list[index])
    case .bytesList(let list): .bytes(list[index])
    case .dates(let list): .date(list[index])
    case .locations(let list): .location(list[index])
    case .assets(let list): .asset(list[index])
    case .references(let list): .reference(list[index])
    default: value
    }
  }
}
