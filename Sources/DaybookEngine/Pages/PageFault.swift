/// Why a page or a tree cannot be trusted.
package struct PageFault: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: String, Sendable {
    case beyondEnd = "the page lies beyond the verified end of the file"
    case checksum = "the page's checksum does not match"
    case place = "a page does not start at a multiple of 4096"
    case kind = "the page has a kind that does not belong there"
    case level = "the page is not at the level that its parent says"
    case slots = "the page's slots do not fit"
    case cell = "a cell does not lie where it should"
    case order = "the page's keys are not in order"
    case child = "a child does not lie before its parent"
    case empty = "a page holds nothing"
    case depth = "the tree is deeper than any tree can be"
    case count = "the counts of a branch do not add up"
    case value = "a value of a tree is malformed"
    case read = "the file could not be read"
  }
  /// Where the page is in the file; nil where it is in memory only, or not known.
  package var offset: UInt64? { place == PageFault.nowhere ? nil : place }
  package let reason: Reason
  /// Not an optional: errors thrown on the path of a read stay small.
  private let place: UInt64
  private let cause: Cause?

  /// Boxed, so that errors thrown on the path of a read stay small.
  private indirect enum Cause: Sendable, Equatable { case disk(DiskFailure) }

  private static let nowhere = UInt64.max

  package init(offset: UInt64, reason: Reason) {
    place = offset
    self.reason = reason
    cause = nil
  }

  /// For what has no place in the file.
  package init(reason: Reason) { self.init(offset: PageFault.nowhere, reason: reason) }

  /// The disk could not read the page, or a part of the log. Says nothing about the content of the file.
  package init(_ failure: DiskFailure, offset: UInt64) {
    place = offset
    reason = .read
    cause = .disk(failure)
  }

  /// Why the disk could not read it, for the reason `read`.
  package var failure: DiskFailure? {
    if case .disk(let failure)? = cause { return failure }
    return nil
  }

  package var description: String { offset.map { "page at byte \($0): \(reason.rawValue)" } ?? reason.rawValue }
}
