import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Indexes of places: every place of a circle is in its cells, at the poles and over the date line, too; what they find is what a loop finds.

extension RandomQueries {
  /// A place where places are hard, or anywhere.
  mutating func hardPlace() -> Location {
    func small() -> Double { Double.random(in: -0.2...0.2, using: &generator) }
    func longitude() -> Double { Double.random(in: -180...180, using: &generator) }
    return switch number(9) {
    case 0: Location(latitude: pick([90, -90]), longitude: pick([0, 180, -180, longitude()]))
    case 1: Location(latitude: pick([1, -1]) * (89.8 + abs(small())), longitude: longitude())
    case 2: Location(latitude: small() * 400, longitude: pick([180, -180]))
    case 3: Location(latitude: small(), longitude: pick([1, -1]) * (180 - abs(small())))
    case 4, 5: Location(latitude: 52.5 + small(), longitude: 13.4 + small())
    case 6: Location(latitude: 0, longitude: 0)
    default: Location(latitude: Double.random(in: -90...90, using: &generator), longitude: longitude())
    }
  }

  /// One that is none of the earth.
  mutating func strangePlace() -> Location {
    pick([
      Location(latitude: 95, longitude: 10), Location(latitude: 10, longitude: 200),
      Location(latitude: -.infinity, longitude: 0),
      Location(latitude: 52.5, longitude: 13.4 + 360), Location(latitude: 0, longitude: .infinity),
    ])
  }

  mutating func kilometres() -> Double {
    pick([0, 0.001, 1, 10, 30, 500, 5000, 10_007, 15_000, 20_014, 20_016, 1e9, .infinity, -1])
      * (chance(2) ? 1 : Double.random(in: 0.5...1, using: &generator))
  }

  /// A place about so far from another one.
  mutating func place(from center: Location, metres: Double) -> Location {
    let radians = Double.pi / 180
    let angle = metres / Location.earthRadius * pick([1, 0.999_999_999, 1.000_000_001, 0.99, 1.01, 0.5])
    let bearing = Double.random(in: 0...(2 * .pi), using: &generator)
    let latitude = center.latitude * radians
    let sine = max(-1, min(1, sin(latitude) * cos(angle) + cos(latitude) * sin(angle) * cos(bearing)))
    let east = atan2(sin(bearing) * sin(angle) * cos(latitude), cos(angle) - sin(latitude) * sine)
    var longitude = center.longitude + east / radians
    if longitude > 180 { longitude -= 360 }
    if longitude < -180 { longitude += 360 }
    return Location(latitude: asin(sine) / radians, longitude: max(-180, min(180, longitude)))
  }
}

@Suite("indexes of places")
struct LocationIndexTests {
  @Test("cells have the numbers that files have")
  func cells() {
    let known: [(Double, Double, UInt64?)] = [
      (0, 0, 0x8000_0000_0000_0000), (-0.0, -0.0, 0x8000_0000_0000_0000), (52.52, 13.405, 0x908D_25C1_65F8_CA44),
      (-33.86, 151.21, 0xC610_312B_00AF_4AA9), (90, 180, 0xAAAA_AAAA_AAAA_AAAA), (-90, -180, 0), (-90, 180, .max),
      (90, -180, 0x5555_5555_5555_5555), (90.1, 0, nil), (0, 180.1, nil), (.nan, 0, nil), (0, .infinity, nil),
    ]
    for (latitude, longitude, cell) in known {
      #expect(LocationCell.cell(latitude: latitude, longitude: longitude) == cell, "\(latitude) \(longitude)")
    }
  }

  @Test("a cell has its number's beginning from the cell that it is a quarter of, and its neighbour touches it")
  func curve() {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<500 {
      let (column, row) = (UInt32.random(in: 0...UInt32.max, using: &random), UInt32.random(in: 0...UInt32.max, using: &random))
      for level in 1...31 {
        let shift = UInt32(32 - level)
        let number = LocationCell.number(column >> shift, row >> shift, level: level)
        #expect(LocationCell.number(column, row, level: 32) >> UInt64(2 * shift) == number)
      }
    }
    var places: [UInt64: (UInt32, UInt32)] = [:]
    for column in 0..<32 as Range<UInt32> {
      for row in 0..<32 as Range<UInt32> { places[LocationCell.number(column, row, level: 5)] = (column, row) }
    }
    for number in 0..<1023 as Range<UInt64> {
      guard let (x, y) = places[number], let (u, v) = places[number + 1] else {
        Issue.record("a number has no cell")
        continue
      }
      #expect(abs(Int(x) - Int(u)) + abs(Int(y) - Int(v)) == 1)
    }
  }

  @Test("the cells of a circle are a few ranges, and have every place within it", arguments: 0..<4 as Range<UInt64>)
  func cover(seed: UInt64) throws {
    var random = RandomQueries(seed: seed &+ 40)
    var within = 0
    for _ in 0..<150 {
      let center = random.hardPlace()
      let metres = random.kilometres() * 1000
      let ranges = try #require(LocationCover.ranges(around: center, metres: metres))
      #expect(ranges.count <= LocationCover.largestCount && ranges.isEmpty == (metres < 0))
      for (first, second) in zip(ranges, ranges.dropFirst()) { #expect(first.upperBound < second.lowerBound - 1) }
      for _ in 0..<40 {
        let isNear = metres.isFinite && metres >= 0 && metres < 3e7 && !random.chance(4)
        let place = isNear ? random.place(from: center, metres: metres) : random.hardPlace()
        guard place.distance(to: center) <= metres,
          let cell = LocationCell.cell(latitude: place.latitude, longitude: place.longitude)
        else { continue }
        within += 1
        #expect(ranges.contains { $0.contains(cell) }, "\(place) is not in the cells around \(center), \(metres)")
      }
    }
    #expect(within > 1000)
    #expect(LocationCover.ranges(around: Location(latitude: 91, longitude: 0), metres: 10) == nil)
    #expect(LocationCover.ranges(around: Location(latitude: 1, longitude: 0), metres: .nan) == nil)
    #expect(LocationCover.ranges(around: Location(latitude: 0, longitude: 0), metres: .infinity) == [0...UInt64.max])
  }

  @Test("a circle's cells are not much more than the circle")
  func narrow() throws {
    for kilometres in [0.1, 1, 10, 100, 500] {
      let center = Location(latitude: 48.1, longitude: 11.6)
      let ranges = try #require(LocationCover.ranges(around: center, metres: kilometres * 1000))
      let share = ranges.reduce(0.0) { $0 + Double($1.upperBound - $1.lowerBound) + 1 } / 0x1p64
      // In degrees the earth is a rectangle.
      let height = 2 * kilometres / 111.195
      let box = height * (height / cos(48.1 * .pi / 180)) / (360 * 180)
      #expect(share < box * 2, "\(kilometres) km: \(share / box) of the box")
    }
  }

  @Test(
    "places around another one are those of a loop, also in lists, at the poles and over the date line",
    arguments: [false, true])
  func queries(prefersIndexes: Bool) throws {
    var random = RandomQueries(seed: prefersIndexes ? 71 : 70)
    let database = try Database.scratch { $0.prefersIndexes = prefersIndexes }
    try database.write { transaction in
      for number in 0..<600 {
        var values: [String: Record.Value] = ["n": .int(Int64(number % 7))]
        switch number % 12 {
        case 0: values["p"] = .location(random.strangePlace())
        case 1: values["p"] = .locations((0..<random.number(4)).map { _ in random.hardPlace() })
        case 2: values["p"] = .string("nowhere")
        case 3: break
        default: values["p"] = .location(random.hardPlace())
        }
        try transaction.save(.fresh("r\(number)", type: "Place", values))
      }
    }
    try database.setIndex(.location, on: "p", ofType: "Place")
    #expect(try database.indexes().map(\.kind) == [.location])
    let records = try database.records(Query("Place"))
    var uses = 0
    for _ in 0..<300 {
      let center = random.chance(20) ? random.strangePlace() : random.hardPlace()
      let field = random.chance(3) ? Query.Field(key: "p").any : Query.Field(key: "p")
      let comparison = random.pick([Query.Comparison.less, .lessOrEqual, .lessOrEqual, .greater, .equal])
      var predicate = Query.Predicate(
        Query.Condition(field, .distance(comparison, from: center, kilometres: random.kilometres())))
      switch random.number(6) {
      case 0: predicate = predicate && .field("n") == random.number(7)
      case 1: predicate = predicate || .field("p").near(random.hardPlace(), within: 100)
      case 2: predicate = predicate && .field("p").near(random.hardPlace(), within: 3000)
      case 3: predicate = !predicate
      default: break
      }
      if predicate.fault != nil { continue }
      let query = Query("Place", where: predicate)
      let plan = try database.explain(query)
      if plan.access == .index { uses += 1 }
      #expect(
        try database.records(query).map(\.id) == records.filter { predicate.matches($0) }.map(\.id), "\(query)\n\(plan)")
    }
    #expect(uses > 50, "\(uses)")
    try database.expectClean()
  }

  @Test("a plan says that it takes the index of places, which is beside one of values of the same field")
  func explain() throws {
    let database = try Database.scratch()
    try database.write { transaction in
      for number in 0..<400 {
        let place = Location(latitude: Double(number / 20) * 2, longitude: Double(number % 20) * 2)
        try transaction.save(.fresh("p\(number)", type: "Place", ["at": .location(place)]))
      }
    }
    try database.setIndex([.queryable, .location], on: "at", ofType: "Place")
    #expect(try database.indexes().map(\.kind) == [.value, .location])
    let query = Query("Place", where: .field("at").near(Location(latitude: 10, longitude: 10), within: 250))
    let plan = try database.explain(query)
    #expect(plan.access == .index && plan.index == "at" && plan.indexKind == .location && plan.recordCount < 20)
    #expect(plan.description.hasPrefix("location index of Place.at, "))
    #expect(try database.records(query).count == 5)
    #expect(try JSONDecoder().decode(Query.Plan.self, from: JSONEncoder().encode(plan)) == plan)
    // Of the numbers as they are.
    let same = Query("Place", where: .field("at") == Location(latitude: 10, longitude: 10))
    #expect(try database.explain(same).indexKind == .value)
    try database.setIndex([], on: "at", ofType: "Place")
    #expect(try database.indexes().isEmpty && database.explain(query).access == .scan)
  }

  @Test("an update that leaves the place where it is touches no index of places")
  func untouched() throws {
    let database = try Database.scratch {
      $0.checkpoint.minimumLogByteCount = 64 << 20
      $0.checkpoint.maximumLogByteCount = 64 << 20
    }
    try database.setIndex(.location, on: "p", ofType: "Note")
    for number in 0..<200 {
      try database.put("r\(number)", ["p": .location(Location(latitude: Double(number) / 4, longitude: 7))])
    }
    let before = try database.indexRoot()
    #expect(before.count == 200)
    for number in 0..<200 {
      let place = Location(latitude: Double(number) / 4, longitude: 7, altitude: 12)
      try database.put("r\(number)", ["p": .location(place), "x": "changed"])
    }
    #expect(try database.indexRoot() == before)
    try database.put("r0", ["p": .location(Location(latitude: 60, longitude: 7))])
    #expect(try database.indexRoot() != before && database.indexRoot().count == 200)
    try database.write { transaction in
      var record = try #require(try transaction.record(Record.ID("r1")))
      record["p"] = nil
      try transaction.save(record)
    }
    #expect(try database.indexRoot().count == 199)
    try database.expectClean()
  }
}
