import DaybookEngine
import Foundation

/// The number that each transaction writes as metadata.
enum CommitNumber {
  static func data(_ number: Int) -> Data { Data((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }) }
  static func of(_ data: Data?) -> Int { data.map { $0.reduce(0) { $0 << 8 | Int($1) } } ?? 0 }
}
