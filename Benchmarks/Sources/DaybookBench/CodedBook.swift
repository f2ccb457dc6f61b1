import DaybookCoding
import Foundation

/// The record of the benchmarks as an application declares it: a Codable struct of ten fields, and its name.
struct CodedBook: RecordCodable, Identifiable {
  static let recordType = "Book"
  static let recordNameKey = "id"

  var id: String
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

  init(_ number: UInt64) { self.init(id: Book.name(number), Book(number)) }

  init(id: String, _ book: Book) {
    self.id = id
    title = book.title
    author = book.author
    year = book.year
    pageCount = book.pageCount
    rating = book.rating
    price = book.price
    published = book.published
    digest = book.digest
    isRead = book.isRead
    tags = book.tags
  }

  /// A number that needs all values.
  var sum: UInt64 {
    var sum = UInt64(title.utf8.count) &+ UInt64(author.utf8.count) &* 3
    sum &+= UInt64(bitPattern: year) &+ UInt64(bitPattern: pageCount)
    sum &+= rating.bitPattern &+ price.bitPattern &+ published.timeIntervalSinceReferenceDate.bitPattern
    sum &+= UInt64(digest[0]) &+ UInt64(digest[31]) &+ (isRead ? 1 : 0) &+ UInt64(id.utf8.count)
    for tag in tags { sum &+= UInt64(tag.utf8.count) }
    return sum
  }
}
