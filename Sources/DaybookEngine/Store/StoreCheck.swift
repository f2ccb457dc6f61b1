/// The result of the checker, which reads everything and changes nothing.
///
/// `frames`: every frame's header, chain and payload from the first to the last. `trees`: every page's checksum, order,
/// separators, levels and counts. `log`: replays the whole log into new trees and compares them with the live ones, key by key
/// and value by value. The layer above adds what it knows about values.
package struct StoreCheck: Sendable {
  package struct Finding: Sendable, CustomStringConvertible {
    package let offset: UInt64?
    package let message: String
    package init(offset: UInt64?, message: String) {
      self.offset = offset
      self.message = message
    }
    package var description: String { offset.map { "byte \($0): \(message)" } ?? message }
  }
  package var frameCount = 0
  package var commitCount = 0
  package var operationCount = 0
  package var pageCount = 0
  package var keyCount: UInt64 = 0
  package var findings: [Finding] = []
  /// Damage that a crash may leave behind and that loses nothing: frames without data that are not in use.
  package var remarks: [Finding] = []
  package var isClean: Bool { findings.isEmpty }
  /// The pages visited so far. In a forged file many branches may lead to one page, and following all of them could take
  /// forever.
  var visited: Set<UInt64> = []
  /// Pages of trees whose roots are in a catalog.
  var nestedPageCount = 0
  /// A disk failure; then the check says nothing at all.
  var diskFailure: DiskFailure?
  /// Copies of the pages that the walk is on, where the file is not mapped.
  var copies: PageCopies?
  var copyCount = 0
  /// Damaged places of the log that were found, named or not.
  private var damagedPlaceCount = 0
  /// A file may be damaged in millions of places. A list of all of them helps no reader.
  package static let mostDamagedPlaces = 100
  package init() {}

  /// Names a damaged place of the log, unless there are too many already.
  mutating func addDamage(_ message: String, at offset: UInt64) {
    damagedPlaceCount += 1
    if damagedPlaceCount <= Self.mostDamagedPlaces { findings.append(.init(offset: offset, message: message)) }
  }

  /// Tells how many damaged places have no finding of their own.
  mutating func addUnnamedDamage() {
    let count = damagedPlaceCount - Self.mostDamagedPlaces
    if count > 0 { findings.append(.init(offset: nil, message: "\(count) more damaged places of the log are not listed")) }
  }
}
