import DaybookEngine

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The cells that a circle on the earth may have places in: a few ranges of their numbers (`LocationCell`).
///
/// The circle's box of latitudes and longitudes is covered, which is two boxes where it crosses the 180th meridian, and one of all
/// longitudes where a pole lies inside. Cells are quartered from the whole earth down, those outside go, until there would be too many.
///
/// Always true: a place whose computed distance passes lies in one of the ranges. The circle is made larger by six metres, which is far
/// more than the errors of sines and roots.
struct LocationCover {
  /// So many cells at most, before those that touch become one range.
  static let largestCount = 64

  /// Columns and rows, both ends included.
  private struct Box {
    let columns: ClosedRange<UInt32>
    let rows: ClosedRange<UInt32>
  }

  private struct Cell {
    let column: UInt32
    let row: UInt32
  }

  private var boxes: [Box] = []

  /// The cells around a place; nil where the place is none of the earth.
  static func ranges(around center: Location, metres: Double) -> [ClosedRange<UInt64>]? {
    guard LocationCell.column(center.longitude) != nil, LocationCell.row(center.latitude) != nil, !metres.isNaN else {
      return nil
    }
    // No distance is below zero.
    if metres < 0 { return [] }
    var cover = LocationCover()
    cover.addBoxes(around: center, metres: metres)
    return cover.ranges()
  }

  private mutating func addBoxes(around center: Location, metres: Double) {
    let radians = Double.pi / 180
    let angle = metres / Location.earthRadius * (1 + 1e-9) + 1e-6
    let (south, north) = (center.latitude - angle / radians, center.latitude + angle / radians)
    if angle >= .pi { return add(-180, 180, -90, 90) }
    if south <= -90 || north >= 90 { return add(-180, 180, max(south, -90), min(north, 90)) }
    // How far the circle reaches east and west, where a meridian touches it.
    let width = (asin(min(1, sin(angle) / cos(center.latitude * radians))) + 1e-6) / radians
    if width >= 180 { return add(-180, 180, south, north) }
    let (west, east) = (center.longitude - width, center.longitude + width)
    if isMutant("end-at-date-line") { return add(max(west, -180), min(east, 180), south, north) }
    if west < -180 {
      add(-180, east, south, north)
      add(west + 360, 180, south, north)
    } else if east > 180 {
      add(west, 180, south, north)
      add(-180, east - 360, south, north)
    } else {
      add(west, east, south, north)
    }
  }

  private mutating func add(_ west: Double, _ east: Double, _ south: Double, _ north: Double) {
    guard let first = LocationCell.column(west), let last = LocationCell.column(east), let bottom = LocationCell.row(south),
      let top = LocationCell.row(north)
    else { preconditionFailure("a box lies on the earth") }
    boxes.append(Box(columns: first...last, rows: bottom...top))
  }

  /// Ascending, and none touches the next.
  private func ranges() -> [ClosedRange<UInt64>] {
    var level = 0
    var whole: [ClosedRange<UInt64>] = []
    var cut = [Cell(column: 0, row: 0)]
    while level < LocationCell.levelCount, !cut.isEmpty {
      var found = whole
      var next: [Cell] = []
      for cell in cut {
        for quarter in 0..<4 as Range<UInt32> {
          let part = Cell(column: cell.column << 1 | quarter & 1, row: cell.row << 1 | quarter >> 1)
          switch overlap(part, level + 1) {
          case .none: break
          case .some: next.append(part)
          case .all: found.append(LocationCover.range(of: part, level + 1))
          }
        }
      }
      if found.count + next.count > LocationCover.largestCount { break }
      (whole, cut, level) = (found, next, level + 1)
    }
    var result: [ClosedRange<UInt64>] = []
    for range in (whole + cut.map { LocationCover.range(of: $0, level) }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = result.last, last.upperBound + 1 == range.lowerBound {
        result[result.count - 1] = last.lowerBound...range.upperBound
      } else {
        result.append(range)
      }
    }
    return result
  }

  private enum Overlap { case none, some, all }

  private func overlap(_ cell: Cell, _ level: Int) -> Overlap {
    let columns = LocationCover.steps(of: cell.column, level)
    let rows = LocationCover.steps(of: cell.row, level)
    var result = Overlap.none
    for box in boxes where box.columns.overlaps(columns) && box.rows.overlaps(rows) {
      if isWithin(columns, box.columns), isWithin(rows, box.rows) { return .all }
      result = .some
    }
    return result
  }

  private func isWithin(_ steps: ClosedRange<UInt32>, _ others: ClosedRange<UInt32>) -> Bool {
    steps.lowerBound >= others.lowerBound && steps.upperBound <= others.upperBound
  }

  /// The columns, or rows, of the last level that one of another level has.
  private static func steps(of step: UInt32, _ level: Int) -> ClosedRange<UInt32> {
    if level == 0 { return 0...UInt32.max }
    let shift = UInt32(LocationCell.levelCount - level)
    let first = step << shift
    return first...(first | ((1 << shift) &- 1))
  }

  /// The cells of the last level that one of another level has.
  private static func range(of cell: Cell, _ level: Int) -> ClosedRange<UInt64> {
    if level == 0 { return 0...UInt64.max }
    let shift = UInt64(2 * (LocationCell.levelCount - level))
    let first = LocationCell.number(cell.column, cell.row, level: level) << shift
    return first...(first | ((1 << shift) &- 1))
  }
}
