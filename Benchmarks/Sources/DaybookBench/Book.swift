import Foundation

/// The record of the benchmarks: two texts, two whole numbers, two doubles, a date, 32 bytes, a Boolean, three texts.
///
/// Computed from its number; texts come from small pools, so that making them is not what is measured.
struct Book {
  var title: String
  var author: String
  var year: Int64
  var pageCount: Int64
  var rating: Double
  var price: Double
  var published: Date
  var digest: Data
  var isRead: Bool
  var tags: [String]

  static let types = ["Book", "Film", "Game", "Song"]
  static func type(_ number: UInt64) -> String { types[Int(number % 4)] }

  private static let titles = (0..<1024).map { "The Chronicle of Harbour \($0)" }
  private static let authors = (0..<256).map { "Author Name \($0)" }
  private static let tagPool = ["fiction", "history", "sea", "family", "adventure", "letters", "northern", "translated"]

  init(_ number: UInt64) {
    let word = Workload.mix(number &+ 0x626f_6f6b)
    title = Book.titles[Int(word & 1023)]
    author = Book.authors[Int(word >> 10 & 255)]
    year = 1900 + Int64(word >> 18 & 127)
    pageCount = 50 + Int64(word >> 25 & 1023)
    rating = Double(word >> 35 & 1023) / 100
    price = Double(word >> 45 & 4095) / 64
    published = Date(timeIntervalSinceReferenceDate: Double(word >> 34))
    let words = (
      Workload.mix(word), Workload.mix(word &+ 1), Workload.mix(word &+ 2), Workload.mix(word &+ 3)
    )
    digest = withUnsafeBytes(of: words) { Data($0) }
    isRead = word & 1 == 1
    tags = [Book.tagPool[Int(word >> 3 & 7)], Book.tagPool[Int(word >> 6 & 7)], Book.tagPool[Int(word >> 9 & 7)]]
  }

  init(
    title: String, author: String, year: Int64, pageCount: Int64, rating: Double, price: Double, published: Date,
    digest: Data, isRead: Bool, tags: [String]
  ) {
    self.title = title
    self.author = author
    self.year = year
    self.pageCount = pageCount
    self.rating = rating
    self.price = price
    self.published = published
    self.digest = digest
    self.isRead = isRead
    self.tags = tags
  }

  /// A number that needs all ten values.
  var sum: UInt64 {
    var sum = UInt64(title.utf8.count) &+ UInt64(author.utf8.count) &* 3
    sum &+= UInt64(bitPattern: year) &+ UInt64(bitPattern: pageCount)
    sum &+= rating.bitPattern &+ price.bitPattern &+ published.timeIntervalSinceReferenceDate.bitPattern
    sum &+= UInt64(digest[0]) &+ UInt64(digest[31]) &+ (isRead ? 1 : 0)
    for tag in tags { sum &+= UInt64(tag.utf8.count) }
    return sum
  }

  /// A random-looking name of twenty characters.
  @inline(__always)
  static func name(_ number: UInt64) -> String {
    var words = (Workload.mix(number ^ 0x6e61_6d65), Workload.mix(number &+ 0x5eed << 32))
    return String(unsafeUninitializedCapacity: 20) { characters in
      for index in 0..<20 {
        characters[index] = UInt8(truncatingIfNeeded: words.0 & 15) + 97
        words.0 = words.0 >> 4 | words.1 << 60
        words.1 >>= 4
      }
      return 20
    }
  }
}
