import Daybook
import Foundation

/// The record of the rows about queries: a code that eleven records share, a rating and a title that no two have, a place, a text of
/// twelve words, and a number of which each value is in one record of a hundred.
///
/// Computed from its number.
struct Venue {
  let code: Int64
  let rating: Double
  let title: String
  let latitude: Double
  let longitude: Double
  let text: String
  let group: Int64

  static let type = "Venue"
  /// So many records have the same code, on average.
  static let recordsPerCode = 11
  static let groupCount = 100

  private static let syllables = (0..<50).map { number in
    String(UnicodeScalar(UInt8(98 + [0, 1, 2, 4, 5, 6, 8, 9, 10, 11][number / 5]))) + ["a", "e", "i", "o", "u"][number % 5]
  }
  /// 2,500 words of four letters.
  static let words = (0..<2500).map { syllables[$0 / 50] + syllables[$0 % 50] }

  init(_ number: UInt64, among recordCount: Int) {
    let word = Workload.mix(number &+ 0x7665_6e75)
    code = Venue.code(word, among: recordCount)
    rating = Double(Workload.mix(word &+ 1) >> 16) / 1_000_000
    title = "\(Venue.words[Int(word >> 20 & 1023)]) \(Venue.words[Int(word >> 30 & 2047)]) \(number)"
    latitude = Venue.fraction(word &+ 2) * 120 - 60
    longitude = Venue.fraction(word &+ 3) * 360 - 180
    var words: [String] = []
    for position in 0..<12 as Range<UInt64> { words.append(Venue.someWord(word &+ 16 &+ position)) }
    text = words.joined(separator: " ")
    group = Int64(word >> 50 % UInt64(Venue.groupCount))
  }

  static func name(_ number: UInt64) -> String { Book.name(number) }

  static func code(_ word: UInt64, among recordCount: Int) -> Int64 {
    Int64(Workload.mix(word).multipliedFullWidth(by: UInt64(max(1, recordCount / recordsPerCode))).high)
  }

  private static func fraction(_ word: UInt64) -> Double { Double(Workload.mix(word) >> 11) / Double(1 << 53) }

  /// Some words are common and most are rare, as in real texts.
  private static func someWord(_ word: UInt64) -> String {
    let number = fraction(word)
    return words[Int(number * number * Double(words.count))]
  }

  /// The radius of a circle with about 20 records in it.
  static func kilometres(among recordCount: Int) -> Double { (20 * 4.417e8 / Double(recordCount) / .pi).squareRoot() }

  /// Where a circle is: far from the date line.
  static func center(_ step: Int, _ round: UInt64) -> Location {
    let word = Workload.mix(round &<< 32 &+ UInt64(step) &+ 0x6369)
    return Location(latitude: fraction(word) * 110 - 55, longitude: fraction(word &+ 1) * 300 - 150)
  }
}

/// Which indexes the database of a row has.
enum VenueIndexes {
  case none
  /// Of values: code, rating, title.
  case values
  /// Of values the code, of words the text, and of places the place.
  case kinds
  /// All of these.
  case all

  var hasCode: Bool { self != .none }
  var hasOrders: Bool { self == .values || self == .all }
  var hasWordsAndPlaces: Bool { self == .kinds || self == .all }
}

/// An open database of venues. Every method is one whole loop; those that find records read title, code and rating of each as Swift
/// values, and return a sum of them.
protocol QueryEngine: AnyObject {
  func insert(_ numbers: Range<UInt64>, perTransaction: Int) throws
  /// Records with a code.
  func equal(_ count: Int, round: UInt64) throws -> UInt64
  /// The first 50 by rating, from a rating on.
  func range(_ count: Int, round: UInt64) throws -> UInt64
  /// The 50 with the highest ratings that are not above one, the highest first.
  func highest(_ count: Int, round: UInt64) throws -> UInt64
  /// The first 50 by title whose title begins with a word.
  func prefix(_ count: Int, round: UInt64) throws -> UInt64
  /// Those in a circle.
  func circle(_ count: Int, round: UInt64) throws -> UInt64
  /// Those with both of two words.
  func words(_ count: Int, round: UInt64) throws -> UInt64
  /// One in a hundred, by a field without an index.
  func filter(_ count: Int, round: UInt64) throws -> UInt64
  /// Reads random records, gives each another rating, saves it.
  func change(_ count: Int, round: UInt64, perTransaction: Int) throws
  func buildIndex() throws
  func dropIndex() throws
  func compact() throws
  func close() throws
}

extension RecordKind {
  func openQueries(in directory: String, recordCount: Int, _ indexes: VenueIndexes) throws -> any QueryEngine {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return isDaybook
      ? try DaybookQueries(directory + "/venues.daybook", isSynced: isSynced, recordCount: recordCount, indexes)
      : try SQLiteQueries(directory + "/venues.sqlite", isSynced: isSynced, recordCount: recordCount, indexes)
  }
}
