import Daybook
import Foundation

final class DaybookQueries: QueryEngine {
  let database: Database
  private let recordCount: Int

  init(_ path: String, isSynced: Bool, recordCount: Int, _ indexes: VenueIndexes) throws {
    var options = Database.Options()
    options.durability = isSynced ? .full : .relaxed
    database = try Database.open(at: path, options: options)
    self.recordCount = recordCount
    if indexes.hasCode { try database.setIndex(.queryable, on: "code", ofType: Venue.type) }
    if indexes.hasOrders {
      try database.setIndex([.queryable, .sortable], on: "rating", ofType: Venue.type)
      try database.setIndex([.queryable, .sortable], on: "title", ofType: Venue.type)
    }
    if indexes.hasWordsAndPlaces {
      try database.setIndex(.searchable, on: "text", ofType: Venue.type)
      try database.setIndex(.location, on: "place", ofType: Venue.type)
    }
  }

  func close() throws { try database.close() }

  private static func record(_ number: UInt64, among recordCount: Int) throws -> Record {
    let venue = Venue(number, among: recordCount)
    var record = try Record(type: Venue.type, id: Record.ID(Venue.name(number)))
    record["code"] = venue.code
    record["rating"] = venue.rating
    record["title"] = venue.title
    record["place"] = Location(latitude: venue.latitude, longitude: venue.longitude)
    record["text"] = venue.text
    record["group"] = venue.group
    return record
  }

  func insert(_ numbers: Range<UInt64>, perTransaction: Int) throws {
    var next = numbers.lowerBound
    while next < numbers.upperBound {
      let end = min(next + UInt64(perTransaction), numbers.upperBound)
      try database.write { transaction in
        for number in next..<end { try transaction.save(DaybookQueries.record(number, among: recordCount)) }
      }
      next = end
    }
  }

  private func sum(_ query: Query) throws -> UInt64 {
    var sum: UInt64 = 0
    for record in try database.records(query) {
      guard let code: Int64 = record["code"], let rating: Double = record["rating"], let title: String = record["title"] else {
        throw BenchmarkFault("a record lacks a field")
      }
      sum &+= UInt64(bitPattern: code) &+ rating.bitPattern &+ UInt64(title.utf8.count) &+ 1
    }
    return sum
  }

  func equal(_ count: Int, round: UInt64) throws -> UInt64 {
    var sum: UInt64 = 0
    for step in 0..<count {
      let code = Venue.code(UInt64(step) &+ round &<< 40, among: recordCount)
      sum &+= try self.sum(Query(Venue.type, where: .field("code") == code))
    }
    return sum
  }

  func range(_ count: Int, round: UInt64) throws -> UInt64 {
    try range(count, round) { Query(Venue.type, where: .field("rating") >= $0, sort: [.ascending("rating")]) }
  }

  func highest(_ count: Int, round: UInt64) throws -> UInt64 {
    try range(count, round) { Query(Venue.type, where: .field("rating") <= $0, sort: [.descending("rating")]) }
  }

  private func range(_ count: Int, _ round: UInt64, _ query: (Double) -> Query) throws -> UInt64 {
    var sum: UInt64 = 0
    for step in 0..<count {
      let number = Workload.pick(step, among: UInt64(recordCount), round: round)
      var query = query(Venue(number, among: recordCount).rating)
      query.limit = QueryRows.limit
      sum &+= try self.sum(query)
    }
    return sum
  }

  func prefix(_ count: Int, round: UInt64) throws -> UInt64 {
    var sum: UInt64 = 0
    for step in 0..<count {
      let word = Venue.words[Int(Workload.pick(step, among: 1024, round: round))]
      sum &+= try self.sum(
        Query(
          Venue.type, where: Query.Field("title").hasPrefix(word), sort: [.ascending("title")], limit: QueryRows.limit))
    }
    return sum
  }

  func circle(_ count: Int, round: UInt64) throws -> UInt64 {
    let kilometres = Venue.kilometres(among: recordCount)
    var sum: UInt64 = 0
    for step in 0..<count {
      let center = Venue.center(step, round)
      sum &+= try self.sum(Query(Venue.type, where: Query.Field("place").near(center, within: kilometres)))
    }
    return sum
  }

  func words(_ count: Int, round: UInt64) throws -> UInt64 {
    var sum: UInt64 = 0
    for step in 0..<count {
      let text = QueryRows.words(step, among: recordCount, round: round)
      sum &+= try self.sum(Query(Venue.type, where: Query.Field("text").allTokens(text)))
    }
    return sum
  }

  func filter(_ count: Int, round: UInt64) throws -> UInt64 {
    var sum: UInt64 = 0
    for step in 0..<count {
      let group = Int64(Workload.pick(step, among: UInt64(Venue.groupCount), round: round))
      sum &+= try self.sum(Query(Venue.type, where: .field("group") == group))
    }
    return sum
  }

  func change(_ count: Int, round: UInt64, perTransaction: Int) throws {
    var done = 0
    while done < count {
      let end = min(done + perTransaction, count)
      try database.write { transaction in
        for step in done..<end {
          let number = Workload.pick(step, among: UInt64(recordCount), round: round)
          guard var record = try transaction.record(Record.ID(Venue.name(number))) else {
            throw BenchmarkFault("Daybook finds no record")
          }
          record["rating"] = QueryRows.rating(step, round)
          try transaction.save(record)
        }
      }
      done = end
    }
  }

  func buildIndex() throws { try database.setIndex([.queryable, .sortable], on: "rating", ofType: Venue.type) }
  func dropIndex() throws { try database.setIndex([], on: "rating", ofType: Venue.type) }
  func compact() throws { try database.compact() }

  /// Observes so many queries, each for the records of one code, until the tasks are cancelled; returns when each has its first result.
  func observe(_ count: Int) -> [Task<Void, Never>] {
    let ready = DispatchSemaphore(value: 0)
    let database = database
    let recordCount = recordCount
    let tasks = (0..<count).map { number in
      Task {
        let code = Venue.code(UInt64(number), among: recordCount)
        var isFirst = true
        do {
          for try await _ in database.observe(Query(Venue.type, where: .field("code") == code)) {
            if isFirst { ready.signal() }
            isFirst = false
          }
        } catch {}
        if isFirst { ready.signal() }
      }
    }
    for _ in tasks { ready.wait() }
    return tasks
  }
}
