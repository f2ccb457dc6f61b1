#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// Places under the names of Core Location, as far as records have to do with them.

  /// Degrees.
  public typealias CLLocationDegrees = Double
  /// Metres.
  public typealias CLLocationDistance = Double
  /// Metres; negative where it is unknown.
  public typealias CLLocationAccuracy = Double
  /// Metres a second; negative where it is unknown.
  public typealias CLLocationSpeed = Double
  /// Degrees clockwise from north; negative where it is unknown.
  public typealias CLLocationDirection = Double

  /// Latitude and longitude.
  public struct CLLocationCoordinate2D: Sendable, Hashable {
    /// Degrees north of the equator.
    public var latitude: CLLocationDegrees
    /// Degrees east of Greenwich.
    public var longitude: CLLocationDegrees

    /// The equator at Greenwich.
    public init() { self.init(latitude: 0, longitude: 0) }

    /// A coordinate.
    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
      self.latitude = latitude
      self.longitude = longitude
    }
  }

  /// A place on the earth.
  public final class CLLocation: NSObject, NSSecureCoding, NSCopying, Sendable {
    private let location: Location

    /// A Daybook place.
    public init(_ location: Location) { self.location = location }

    /// A place of which latitude and longitude are known.
    public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
      self.init(Location(latitude: latitude, longitude: longitude))
    }

    /// A place with what else a receiver knows; what is negative is unknown.
    public convenience init(
      coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
      verticalAccuracy: CLLocationAccuracy, course: CLLocationDirection = -1, speed: CLLocationSpeed = -1, timestamp: Date
    ) {
      func known(_ number: Double) -> Double? { number < 0 ? nil : number }
      self.init(
        Location(
          latitude: coordinate.latitude, longitude: coordinate.longitude, altitude: altitude,
          horizontalAccuracy: known(horizontalAccuracy), verticalAccuracy: known(verticalAccuracy), course: known(course),
          speed: known(speed), timestamp: timestamp))
    }

    /// Latitude and longitude.
    public var coordinate: CLLocationCoordinate2D {
      CLLocationCoordinate2D(latitude: location.latitude, longitude: location.longitude)
    }
    /// Metres above sea level; 0 when unknown.
    public var altitude: CLLocationDistance { location.altitude ?? 0 }
    /// The radius of uncertainty; 0 for a place of which only latitude and longitude are known.
    public var horizontalAccuracy: CLLocationAccuracy { location.horizontalAccuracy ?? 0 }
    /// The uncertainty of the altitude; negative when unknown.
    public var verticalAccuracy: CLLocationAccuracy { location.verticalAccuracy ?? -1 }
    /// The direction of travel; negative when unknown.
    public var course: CLLocationDirection { location.course ?? -1 }
    /// The speed of travel; negative when unknown.
    public var speed: CLLocationSpeed { location.speed ?? -1 }
    /// When the place was measured; the beginning of 2001 when unknown, so that a place never changes.
    public var timestamp: Date { location.timestamp ?? Date(timeIntervalSinceReferenceDate: 0) }

    /// The great-circle distance in metres.
    public func distance(from location: CLLocation) -> CLLocationDistance { self.location.distance(to: location.location) }

    /// The same for Daybook.
    var daybookLocation: Location { location }

    /// Whether all parts are the same.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CLLocation)?.location == location }
    /// Equal places have equal ones.
    public override var hash: Int { location.hashValue }
    /// Latitude and longitude.
    public override var description: String { "<\(location.latitude),\(location.longitude)>" }
    /// Itself: it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes all parts that are known.
    public func encode(with coder: NSCoder) {
      coder.encode(location.latitude, forKey: "latitude")
      coder.encode(location.longitude, forKey: "longitude")
      let others = [
        ("altitude", location.altitude), ("horizontalAccuracy", location.horizontalAccuracy),
        ("verticalAccuracy", location.verticalAccuracy), ("course", location.course), ("speed", location.speed),
        ("timestamp", location.timestamp?.timeIntervalSinceReferenceDate),
      ]
      for (key, number) in others { if let number { coder.encode(number, forKey: key) } }
    }

    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public convenience init?(coder: NSCoder) {
      func number(_ key: String) -> Double? { coder.containsValue(forKey: key) ? coder.decodeDouble(forKey: key) : nil }
      guard let latitude = number("latitude"), let longitude = number("longitude") else { return nil }
      self.init(
        Location(
          latitude: latitude, longitude: longitude, altitude: number("altitude"),
          horizontalAccuracy: number("horizontalAccuracy"), verticalAccuracy: number("verticalAccuracy"),
          course: number("course"), speed: number("speed"),
          timestamp: number("timestamp").map { Date(timeIntervalSinceReferenceDate: $0) }))
    }
  }
#endif
