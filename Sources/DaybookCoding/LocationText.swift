import Daybook

/// Places as `latitude;longitude`, in degrees: how models have them whose types know no location.
enum LocationText {
  /// Nil for a place whose other parts the text would lose.
  static func text(of place: Location) -> String? {
    let hasMore =
      place.altitude != nil || place.horizontalAccuracy != nil || place.verticalAccuracy != nil || place.course != nil
      || place.speed != nil || place.timestamp != nil
    return hasMore ? nil : "\(place.latitude);\(place.longitude)"
  }

  /// The text of latitude and longitude alone.
  static func shortText(of place: Location) -> String { "\(place.latitude);\(place.longitude)" }

  /// Nil when the text is not two finite numbers with a semicolon between them.
  static func location(of text: String) -> Location? {
    let parts = text.split(separator: ";", omittingEmptySubsequences: false)
    guard parts.count == 2, let latitude = number(parts[0]), let longitude = number(parts[1]) else { return nil }
    return Location(latitude: latitude, longitude: longitude)
  }

  private static func number(_ part: Substring) -> Double? {
    let trimmed = part.drop { $0 == " " }
    guard let number = Double(trimmed), number.isFinite else { return nil }
    return number
  }
}
