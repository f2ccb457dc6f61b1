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
    var level = firstLevel
    var whole: [ClosedRange<UInt64>] = []
    whole.reserveCapacity(LocationCover.largestCount + 4)
    var cut = squares(of: level)
    var next: [LocationCell.Square] = []
    while level < LocationCell.levelCount, !cut.isEmpty {
      let wholeCount = whole.count
      next.removeAll(keepingCapacity: true)
      for cell in cut {
        for quarter in 0..<4 as Range<UInt32> {
          let part = cell.quarter(quarter & 1, quarter >> 1)
          switch overlap(part, level + 1) {
          case .none: break
          case .some: next.append(part)
          case .all: whole.append(LocationCover.range(of: part, level + 1))
          }
        }
      }
      if whole.count + next.count > LocationCover.largestCount {
        whole.removeSubrange(wholeCount...)
        break
      }
      swap(&cut, &next)
      level += 1
    }
    for cell in cut { whole.append(LocationCover.range(of: cell, level)) }
    whole.sort { $0.lowerBound < $1.lowerBound }
    var count = 0
    for range in whole {
      if count > 0, whole[count - 1].upperBound + 1 == range.lowerBound {
        whole[count - 1] = whole[count - 1].lowerBound...range.upperBound
      } else {
        whole[count] = range
        count += 1
      }
    }
    whole.removeSubrange(count...)
    return whole
  }

  /// The level to begin with: the last one of which a single box touches no more than four cells. Those above have fewer.
  private var firstLevel: Int {
    guard boxes.count == 1 else { return 0 }
    func level(_ steps: ClosedRange<UInt32>) -> Int { (steps.upperBound - steps.lowerBound).leadingZeroBitCount }
    return min(level(boxes[0].columns), level(boxes[0].rows))
  }

  /// The cells of a level that the boxes touch; of none, the whole earth.
  private func squares(of level: Int) -> [LocationCell.Square] {
    if level == 0 { return [LocationCell.Square()] }
    func cells(_ steps: ClosedRange<UInt32>) -> ClosedRange<UInt32> {
      let shift = UInt32(LocationCell.levelCount - level)
      return steps.lowerBound >> shift...steps.upperBound >> shift
    }
    var result: [LocationCell.Square] = []
    for column in cells(boxes[0].columns) {
      for row in cells(boxes[0].rows) { result.append(LocationCell.square(column, row, level: level)) }
    }
    return result
  }

  private enum Overlap { case none, some, all }

  private func overlap(_ cell: LocationCell.Square, _ level: Int) -> Overlap {
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
  private static func range(of cell: LocationCell.Square, _ level: Int) -> ClosedRange<UInt64> {
    if level == 0 { return 0...UInt64.max }
    let shift = UInt64(2 * (LocationCell.levelCount - level))
    let first = cell.number << shift
    return first...(first | ((1 << shift) &- 1))
  }
}
