/// The cells of a grid on the earth: 2³² columns of longitude times 2³² rows of latitude, numbered along a Hilbert curve, so that what
/// lies together has numbers that follow one another, mostly.
///
///     level 1     level 2            column and row are cut off at each level,
///                 5 ─ 6   9 ─ 10     so a cell of level n is a range of
///     1 ─ 2       │   │   │   │      4^(32 − n) cells of level 32
///     │   │       4   7 ─ 8   11
///     0   3       │           │
///                 3 ─ 2   13 ─ 12
///                     │   │
///                 0 ─ 1   14 ─ 15
///
/// Columns go from 180° west eastwards, rows from the south pole northwards. A cell of the last level is 9 mm wide at the equator.
enum LocationCell {
  static let levelCount = 32

  /// The cell of a place; nil where the numbers are none of the earth.
  static func cell(latitude: Double, longitude: Double) -> UInt64? {
    guard let column = column(longitude), let row = row(latitude) else { return nil }
    return number(column, row, level: levelCount)
  }

  /// Never falls while the longitude grows.
  static func column(_ longitude: Double) -> UInt32? { step(longitude + 180, of: 360) }
  /// Never falls while the latitude grows.
  static func row(_ latitude: Double) -> UInt32? { step(latitude + 90, of: 180) }

  private static func step(_ distance: Double, of whole: Double) -> UInt32? {
    // Not so for NaN either.
    guard distance >= 0, distance <= whole else { return nil }
    return UInt32(min(distance / whole * 4_294_967_296, 4_294_967_295))
  }

  /// The number of a cell of a level along the curve.
  /// - Parameters:
  ///   - column: with as many bits as the level.
  ///   - row: as well.
  static func number(_ column: UInt32, _ row: UInt32, level: Int) -> UInt64 {
    square(column, row, level: level).number
  }

  /// The same cell, to be quartered.
  static func square(_ column: UInt32, _ row: UInt32, level: Int) -> Square {
    var square = Square()
    for bit in (0..<UInt32(level)).reversed() { square = square.quarter(column >> bit & 1, row >> bit & 1) }
    return square
  }

  /// A cell of some level, and the way in which the curve goes through its quarters (Wikipedia, "Hilbert curve", xy2d). At first the
  /// whole earth.
  struct Square {
    private(set) var column: UInt32 = 0
    private(set) var row: UInt32 = 0
    private(set) var number: UInt64 = 0
    /// Columns are taken for rows there, and rows for columns.
    private var isTurned = false
    /// They are counted from the other end.
    private var isMirrored = false

    /// One of the four cells of the next level.
    /// - Parameters:
    ///   - right: 1 for the two in the east, 0 for those in the west.
    ///   - up: 1 for the two in the north.
    @inline(__always)
    func quarter(_ right: UInt32, _ up: UInt32) -> Square {
      var part = self
      part.column = column << 1 | right
      part.row = row << 1 | up
      var (x, y) = isTurned ? (up, right) : (right, up)
      if isMirrored { (x, y) = (x ^ 1, y ^ 1) }
      part.number = number << 2 | UInt64(3 * x ^ y)
      if y == 0 {
        // Below, the curve is turned: on the left about one diagonal, on the right about the other.
        if x == 1 { part.isMirrored.toggle() }
        part.isTurned.toggle()
      }
      return part
    }
  }
}
