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

/// A place on the earth: degrees, with what else a receiver may know about it.
///
/// The database stores every part exactly. Values that are not numbers (NaN) are refused when the record is saved.
public struct Location: Hashable, Codable, Sendable {
  /// Degrees north of the equator, −90…90.
  public var latitude: Double
  /// Degrees east of Greenwich, −180…180.
  public var longitude: Double
  /// Metres above sea level.
  public var altitude: Double?
  /// The radius of uncertainty, in metres.
  public var horizontalAccuracy: Double?
  /// The uncertainty of the altitude, in metres.
  public var verticalAccuracy: Double?
  /// The direction of travel, in degrees clockwise from north.
  public var course: Double?
  /// The speed of travel, in metres a second.
  public var speed: Double?
  /// When the place was measured.
  public var timestamp: Date?

  /// The mean radius of the earth that ``distance(to:)`` uses, in metres.
  public static let earthRadius = 6_371_008.8

  /// A place; latitude and longitude in degrees, lengths in metres.
  public init(
    latitude: Double, longitude: Double, altitude: Double? = nil, horizontalAccuracy: Double? = nil,
    verticalAccuracy: Double? = nil, course: Double? = nil, speed: Double? = nil, timestamp: Date? = nil
  ) {
    self.latitude = latitude
    self.longitude = longitude
    self.altitude = altitude
    self.horizontalAccuracy = horizontalAccuracy
    self.verticalAccuracy = verticalAccuracy
    self.course = course
    self.speed = speed
    self.timestamp = timestamp
  }

  /// The parts in a row, the date as its number.
  private var numbers: [Double?] {
    [
      latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed,
      timestamp?.timeIntervalSinceReferenceDate,
    ]
  }

  /// Whether all parts are the same; NaN equals itself.
  public static func == (first: Location, second: Location) -> Bool {
    ExactNumber.same(first.latitude, second.latitude) && ExactNumber.same(first.longitude, second.longitude)
      && zip(first.numbers, second.numbers).allSatisfy { ExactNumber.same($0, $1) }
  }

  /// Hashes all parts.
  public func hash(into hasher: inout Hasher) {
    for number in numbers {
      hasher.combine(number != nil)
      if let number { ExactNumber.combine(number, into: &hasher) }
    }
  }

  /// The great-circle distance in metres, on a sphere; within 0.6 % of the distance on the ellipsoid.
  public func distance(to other: Location) -> Double {
    // The haversine: exact for small distances, where the law of cosines loses its digits.
    let radians = Double.pi / 180
    let sineOfLatitude = sin((other.latitude - latitude) * radians / 2)
    let sineOfLongitude = sin((other.longitude - longitude) * radians / 2)
    let haversine =
      sineOfLatitude * sineOfLatitude
      + cos(latitude * radians) * cos(other.latitude * radians) * sineOfLongitude * sineOfLongitude
    return 2 * Self.earthRadius * asin(min(1, haversine.squareRoot()))
  }
}
