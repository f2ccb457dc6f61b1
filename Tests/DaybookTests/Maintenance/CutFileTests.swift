import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Files whose end is missing, as after a copy that broke off: never taken for a shorter database. What is whole can be read
// and salvaged, nothing is written, and the check, the salvage and the error of a write say how much is missing.

@Suite("A file that was cut short")
struct CutFileTests {
  typealias Contents = [Record.ID: [String: Record.Value]]
  static let path = "test.daybook"

  /// How a file came to have the length that it names.
  enum Kind: String, CaseIterable, CustomTestStringConvertible {
    case closed, closedTwice, compacted, compactedAndClosed, backup, backupOfCompacted, salvage
    var testDescription: String { rawValue }
  }

  /// A file, what the database in it held after each commit, and every version of every record that there ever was.
  struct Specimen {
    var bytes: [UInt8] = []
    var history: [Int: Contents] = [:]
    var versions: [Record.ID: Set<[String: Record.Value]>] = [:]
    var last: Contents { history[history.keys.max() ?? 0] ?? [:] }

    mutating func note(_ database: Database) throws {
      let contents = try CutFileTests.contents(database)
      history[Int(try database.statistics().lastSequence)] = contents
      for (id, values) in contents { versions[id, default: []].insert(values) }
    }

    var header: FileHeader {
      get throws { try bytes.withView { (view: ByteView) throws -> FileHeader in try FileHeader(view) } }
    }
  }

  static func contents(_ database: Database) throws -> Contents {
    var contents: Contents = [:]
    for zone in try database.zones() {
      for record in try database.records(in: zone.id) { contents[record.id] = record.values }
    }
    return contents
  }

  private static func options(_ seed: UInt64) -> Database.Options {
    var options = Database.Options.simulated(seed: seed)
    options.partByteCount = 1500
    options.reserveByteCount = 0
    return options
  }

  static func specimen(_ kind: Kind) throws -> Specimen {
    var specimen = Specimen()
    let disk = SimulatedDisk(seed: 51, maximumFileByteCount: 1 << 20)
    var database = try Database.open(at: path, options: options(1), disk: disk)
    let zone = try database.zone("Shelf")
    try specimen.note(database)
    func fill(_ round: Int, _ database: Database) throws {
      for number in 0..<14 {
        try database.put("r\(number % 9)", in: number % 2 == 0 ? zone : .default, ["text": .string("\(round)#\(number)")])
        try specimen.note(database)
      }
      try database.write { transaction in
        for number in 0..<40 {
          try transaction.save(
            .fresh("big\(number)", in: zone, ["text": .string("round \(round), number \(number)")]), policy: .changedKeys)
        }
      }
      try specimen.note(database)
      try database.write { try $0.delete(Record.ID("r3")) }
      try specimen.note(database)
    }
    try fill(1, database)
    switch kind {
    case .closed:
      try database.close()
      specimen.bytes = try #require(disk.bytes(of: path))
    case .closedTwice:
      try database.close()
      database = try Database.open(at: path, options: options(2), disk: disk)
      try fill(2, database)
      try database.close()
      specimen.bytes = try #require(disk.bytes(of: path))
    case .compacted, .compactedAndClosed:
      try database.compact()
      if kind == .compactedAndClosed {
        try fill(2, database)
        try database.close()
      }
      specimen.bytes = try #require(disk.bytes(of: path))
    case .backup, .backupOfCompacted:
      if kind == .backupOfCompacted {
        try database.compact()
        try fill(2, database)
      }
      try database.backup(to: "copy", disk: disk)
      specimen.bytes = try #require(disk.bytes(of: "copy"))
    case .salvage:
      try database.close()
      _ = try Database.salvage(from: path, to: "copy", options: options(3), disk: disk)
      specimen.bytes = try #require(disk.bytes(of: "copy"))
    }
    return specimen
  }

  private static func disk(_ bytes: [UInt8]) -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 7, maximumFileByteCount: 1 << 20)
    disk.install(bytes, at: path)
    return disk
  }

  private static func readOnly() -> Database.Options {
    var options = options(8)
    options.isReadOnly = true
    return options
  }

  /// Which records a salvage has to find: those whose last operation in front of the cut lies there as a whole. An operation
  /// counts by itself, because everything before the length of the file was durable.
  private static func recordsBefore(_ length: Int, _ specimen: Specimen) throws -> Contents {
    var found: Contents = [:]
    let shapes = ShapeDictionary()
    try specimen.bytes.withView { (view: ByteView) throws -> Void in
      let log = LogReader(view, salt: try FileHeader(view).salt)
      var offset = UInt64(FileHeader.byteCount)
      while let header = log.header(at: offset), Int(header.payloadOffset) <= length {
        offset = header.next
        guard header.kind.carriesData else { continue }
        try log.forEachOperation(of: header) { (place, kind) throws(LogFault) in
          guard Int(place.offset) + Int(place.byteCount) <= length else { return false }
          let payload = Operation.payload(try log.operation(at: place))
          if kind == OperationKind.declare.rawValue { _ = shapes.add(payload) }
          if kind == OperationKind.saveRecord.rawValue, let body = try? RecordBody(stored: payload, shapes) {
            let record = Record(body: body)
            found[record.id] = record.values
          } else if kind == OperationKind.deleteRecord.rawValue, let tombstone = try? Tombstone(payload) {
            found[tombstone.id] = nil
          }
          return true
        }
      }
    }
    return found
  }

  /// Every place where a frame begins or ends, and beside it; pages; and some lengths between.
  private static func lengths(of specimen: Specimen, seed: UInt64) throws -> [Int] {
    var lengths: Set<Int> = []
    try specimen.bytes.withView { (view: ByteView) throws -> Void in
      let log = LogReader(view, salt: try FileHeader(view).salt)
      var offset = UInt64(FileHeader.byteCount)
      while let header = log.header(at: offset) {
        for place in [header.offset, header.payloadOffset, header.end, header.next] {
          for step in [-8, -1, 0, 1, 8] { lengths.insert(Int(place) + step) }
        }
        offset = header.next
      }
    }
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<60 { lengths.insert(Int.random(in: FileHeader.byteCount..<specimen.bytes.count, using: &generator)) }
    return lengths.filter { (FileHeader.byteCount..<specimen.bytes.count).contains($0) }.sorted()
  }

  // MARK: what must hold

  private static func examine(_ bytes: [UInt8], missing: Int, _ specimen: Specimen, _ name: String, salvages: Int?) throws {
    let disk = disk(bytes)
    let error = failure { try Database.open(at: path, options: options(9), disk: disk) }
    #expect(error?.code == .corrupted, "\(name)")
    #expect(error?.facts.found == "\(missing) bytes are missing", "\(name): \(String(describing: error))")
    #expect(error?.facts.offset != nil)

    let database = try Database.open(at: path, options: readOnly(), disk: disk)
    #expect(database.lastRecovery.missingByteCount == missing && !database.lastRecovery.wasClosed, "\(name)")
    let shown = try contents(database)
    let sequence = Int(try database.statistics().lastSequence)
    if let expected = specimen.history[sequence] { #expect(shown == expected, "\(name): commit \(sequence)") }
    for (id, values) in shown { #expect(specimen.versions[id]?.contains(values) == true, "\(name): \(id)") }
    #expect(failure { try database.put("new") }?.code == .readOnly)
    let report = try database.check(.structure)
    #expect(report.findings.contains { $0.message.contains("\(missing) bytes are missing") }, "\(name): \(report.findings)")
    #expect(failure { try database.backup(to: "backup", disk: disk) }?.code == .corrupted)
    try database.close()

    if let length = salvages {
      let report = try Database.salvage(from: path, to: "out", options: options(10), disk: disk)
      // Of zeros in place of a payload the salvage says which commit they were.
      #expect(!report.isComplete && (report.missingByteCount > 0 || !report.lostSequences.isEmpty), "\(name): \(report)")
      let copy = try Database.open(at: "out", options: options(11), disk: disk)
      try copy.expectClean()
      let found = try contents(copy)
      for (id, values) in try recordsBefore(length, specimen) {
        #expect(found[id] == values, "\(name): \(id) was there and is not salvaged; \(report)")
      }
      for (id, values) in found { #expect(specimen.versions[id]?.contains(values) == true, "\(name): \(id)") }
      try copy.close()
    }
    #expect(disk.bytes(of: path) == bytes, "\(name): the file was changed")
  }

  /// A cut of what no length covers: nothing is lost that any commit needs.
  private static func examineHarmless(_ bytes: [UInt8], _ specimen: Specimen, _ name: String) throws {
    let database = try Database.open(at: path, options: options(9), disk: disk(bytes))
    #expect(try contents(database) == specimen.last, "\(name)")
    try database.expectClean()
    try database.close()
  }

  // MARK: tests

  @Test(
    "no cut of a file that was closed, compacted, backed up or salvaged is taken for a shorter database",
    arguments: Kind.allCases)
  func cuts(_ kind: Kind) throws {
    let specimen = try Self.specimen(kind)
    // Cut inside the zeros that fill the last frame up to a multiple of eight, nothing is missing.
    let least = Int(try specimen.header.leastByteCount)
    let whole = try Self.frameEnd(before: least, specimen)
    let lastCommit = try #require(try Self.commitEnds(specimen).last)
    #expect(least >= lastCommit, "the length covers the last commit")
    for (index, length) in try Self.lengths(of: specimen, seed: 5).enumerated() {
      let bytes = Array(specimen.bytes[..<length])
      if length < whole {
        try Self.examine(
          bytes, missing: least - length, specimen, "\(kind), cut at \(length)", salvages: index % 5 == 0 ? length : nil)
      } else if index % 3 == 0 {
        try Self.examineHarmless(bytes, specimen, "\(kind), cut at \(length)")
      }
    }
  }

  /// Where the payload of the last frame before a length ends.
  private static func frameEnd(before length: Int, _ specimen: Specimen) throws -> Int {
    try specimen.bytes.withView { (view: ByteView) throws -> Int in
      let log = LogReader(view, salt: try FileHeader(view).salt)
      var end = 0
      var offset = UInt64(FileHeader.byteCount)
      while let header = log.header(at: offset), header.next <= UInt64(length) {
        end = Int(header.end)
        offset = header.next
      }
      return end
    }
  }

  private static func commitEnds(_ specimen: Specimen) throws -> [Int] {
    try specimen.bytes.withView { (view: ByteView) throws -> [Int] in
      let log = LogReader(view, salt: try FileHeader(view).salt)
      var ends: [Int] = []
      var offset = UInt64(FileHeader.byteCount)
      while let header = log.header(at: offset) {
        if header.kind == .commit { ends.append(Int(header.end)) }
        offset = header.next
      }
      return ends
    }
  }

  @Test("a file that was cut within its first page is no database, and nothing is written to it", arguments: Kind.allCases)
  func cutInFirstPage(_ kind: Kind) throws {
    let specimen = try Self.specimen(kind)
    for length in [1, 7, 8, 47, 48, 56, 2047, 2048, 2560, 4087, 4088, 4095] {
      let bytes = Array(specimen.bytes[..<length])
      let disk = Self.disk(bytes)
      #expect(failure { try Database.open(at: Self.path, options: Self.options(9), disk: disk) }?.code == .notADatabase)
      #expect(disk.bytes(of: Self.path) == bytes, "\(kind), cut at \(length)")
    }
  }

  @Test("a copy that has its size, but zeros where it broke off, is not whole either", arguments: Kind.allCases)
  func zeros(_ kind: Kind) throws {
    let specimen = try Self.specimen(kind)
    let least = Int(try specimen.header.leastByteCount)
    for (index, length) in try Self.lengths(of: specimen, seed: 6).enumerated() where length < least && index % 7 == 0 {
      var bytes = specimen.bytes
      for place in length..<bytes.count { bytes[place] = 0 }
      // Zeros at the end of what was kept are no loss.
      let database = try? Database.open(at: Self.path, options: Self.options(9), disk: Self.disk(bytes))
      if let database {
        #expect(try Self.contents(database) == specimen.last, "\(kind), zeros from \(length)")
        continue
      }
      let reader = try Database.open(at: Self.path, options: Self.readOnly(), disk: Self.disk(bytes))
      let missing = reader.lastRecovery.missingByteCount
      #expect(missing > 0)
      try reader.close()
      try Self.examine(bytes, missing: missing, specimen, "\(kind), zeros from \(length)", salvages: length)
    }
  }

  @Test("of a compacted file cut inside its image the parts that hold are salvaged, and it never opens as an empty database")
  func compactedFile() throws {
    let specimen = try Self.specimen(.compactedAndClosed)
    let image = try #require(try Self.commitEnds(specimen).first)
    let length = image * 7 / 10
    let disk = Self.disk(Array(specimen.bytes[..<length]))
    #expect(failure { try Database.open(at: Self.path, options: Self.options(9), disk: disk) }?.code == .corrupted)
    let reader = try Database.open(at: Self.path, options: Self.readOnly(), disk: disk)
    #expect(try Self.contents(reader).isEmpty)
    #expect(try !reader.check().isClean)
    try reader.close()
    let report = try Database.salvage(from: Self.path, to: "out", options: Self.options(10), disk: disk)
    #expect(report.recordCount > 10 && report.partialSequences == [1] && report.lostSequences == [1...1])
    #expect(!report.isComplete)
  }

  @Test("a transaction in parts whose commit is cut off is salvaged as far as its parts go, without what a savepoint took back")
  func parts() throws {
    let disk = SimulatedDisk(seed: 52, maximumFileByteCount: 1 << 20)
    let database = try Database.open(at: Self.path, options: Self.options(1), disk: disk)
    try database.put("before")
    try database.write { transaction in
      for number in 0..<30 { try transaction.save(.fresh("kept\(number)", ["text": .string("text of \(number)")])) }
      try? transaction.savepoint {
        for number in 0..<30 { try transaction.save(.fresh("back\(number)", ["text": .string("text of \(number)")])) }
        throw Intended()
      }
      for number in 0..<60 { try transaction.save(.fresh("late\(number)", ["text": .string("text of \(number)")])) }
    }
    try database.close()
    var specimen = Specimen()
    specimen.bytes = try #require(disk.bytes(of: Self.path))
    // Cut right before the commit that names the parts.
    var commits: [Int] = []
    try specimen.bytes.withView { (view: ByteView) throws -> Void in
      let log = LogReader(view, salt: try FileHeader(view).salt)
      var offset = UInt64(FileHeader.byteCount)
      while let header = log.header(at: offset) {
        if header.kind == .commit { commits.append(Int(header.offset)) }
        offset = header.next
      }
    }
    for length in [commits[1], commits[1] - 200, commits[1] + 50] {
      let cut = Self.disk(Array(specimen.bytes[..<length]))
      let report = try Database.salvage(from: Self.path, to: "out", options: Self.options(10), disk: cut)
      #expect(!report.isComplete && report.partialSequences == [2] && report.lostSequences == [2...2], "\(report)")
      let copy = try Database.open(at: "out", options: Self.options(11), disk: cut)
      let names = Set(try Self.contents(copy).keys.map(\.name))
      #expect(names.isSuperset(of: (0..<30).map { "kept\($0)" } + ["before", "late0"]))
      #expect(!names.contains { $0.hasPrefix("back") })
      try copy.close()
    }
  }

  @Test("what was committed since the last close is not covered: a cut there looks like a crash, one before it does not")
  func grownSinceClose() throws {
    let disk = SimulatedDisk(seed: 53, maximumFileByteCount: 1 << 20)
    var database = try Database.open(at: Self.path, options: Self.options(1), disk: disk)
    for number in 0..<8 { try database.put("old\(number)") }
    try database.close()
    let closedByteCount = try #require(disk.bytes(of: Self.path)?.count)
    database = try Database.open(at: Self.path, options: Self.options(2), disk: disk)
    for number in 0..<8 { try database.put("new\(number)") }
    let bytes = try #require(disk.killed().bytes(of: Self.path))
    for length in stride(from: closedByteCount, to: bytes.count, by: 77) {
      let found = try Database.open(at: Self.path, options: Self.options(3), disk: Self.disk(Array(bytes[..<length])))
      #expect(try found.recordCount(in: .default) >= 8)
      try found.expectClean()
      // Closed again, it names its new length.
      try found.close()
    }
    let cut = Self.disk(Array(bytes[..<(closedByteCount - 200)]))
    #expect(failure { try Database.open(at: Self.path, options: Self.options(3), disk: cut) }?.code == .corrupted)
  }

  @Test("whatever a crash leaves of a close, the file is not called cut")
  func crashWhileClosing() throws {
    for seed in 1...6 as ClosedRange<UInt64> {
      let disk = SimulatedDisk(seed: seed, sectorByteCount: seed == 1 ? 4096 : 512, maximumFileByteCount: 1 << 20)
      for round in 1...3 as ClosedRange<UInt64> {
        let database = try Database.open(at: Self.path, options: Self.options(round), disk: disk)
        for number in 0..<Int(seed) { try database.put("r\(number)", ["round": .int(Int64(round))]) }
        let problems = Locked<[String]>([])
        disk.observe { call throws(DiskFailure) in
          for image in 0..<8 as Range<UInt64> {
            let crashed = disk.crashed(seed: seed &* 100 &+ image)
            do {
              let found = try Database.open(at: Self.path, options: Self.options(9), disk: crashed)
              if try found.recordCount(in: .default) < Int(seed) { problems.withLock { $0.append("records are missing") } }
              try found.close()
            } catch { problems.withLock { $0.append("\(error)") } }
          }
        }
        try database.close()
        disk.observe(nil)
        #expect(problems.withLock { $0 } == [], "seed \(seed), round \(round)")
      }
    }
  }

  @Test("a closed frame of a process that died before its sync is nothing that another's close may count on")
  func closedFrameOfTheDead() throws {
    let disk = SimulatedDisk(seed: 54, maximumFileByteCount: 1 << 20)
    var turns = Self.options(1)
    turns.lock = .perTransaction
    let first = try Database.open(at: Self.path, options: turns, disk: disk)
    try first.put("a")
    var options = Self.options(2)
    options.lock = .perTransaction
    options.closeCheckpointByteCount = .max
    let second = try Database.open(at: Self.path, options: options, disk: disk)
    try second.put("b")
    disk.observe { call throws(DiskFailure) in
      if call.operation == .sync { throw DiskFailure(.sync, path: call.path, kind: .other, code: 5) }
    }
    #expect(failure { try second.close() }?.code == .outcomeUnknown)
    disk.observe(nil)
    _ = try first.refresh()
    #expect(try first.recordCount(in: .default) == 2)
    let problems = Locked<[String]>([])
    disk.observe { call throws(DiskFailure) in
      for image in 0..<40 as Range<UInt64> {
        do {
          let found = try Database.open(at: Self.path, options: Self.options(9), disk: disk.crashed(seed: image))
          if try found.recordCount(in: .default) != 2 { problems.withLock { $0.append("records are missing") } }
        } catch { problems.withLock { $0.append("\(error)") } }
      }
    }
    try first.close()
    disk.observe(nil)
    #expect(problems.withLock { $0 } == [])
  }

  @Test("where a disk may destroy what lies beside a write, closing leaves the first page alone")
  func padding() throws {
    let disk = SimulatedDisk(seed: 55, maximumFileByteCount: 1 << 20)
    var options = Self.options(1)
    options.padding = true
    let database = try Database.open(at: Self.path, options: options, disk: disk)
    try database.put("a")
    let before = try #require(disk.bytes(of: Self.path))[..<4096]
    try database.close()
    #expect(try #require(disk.bytes(of: Self.path))[..<4096] == before)
  }

  @Test("a length of the last close that does not hold costs nothing, and the next close writes it again")
  func damagedLength() throws {
    let specimen = try Self.specimen(.closed)
    for place in [2048, 2052, 2300, 2552, 2559] {
      var bytes = specimen.bytes
      bytes[place] ^= 0x40
      let disk = Self.disk(bytes)
      let reader = try Database.open(at: Self.path, options: Self.readOnly(), disk: disk)
      let pin = try reader.store.beginRead()
      #expect(try reader.store.check(pin).remarks.contains { $0.message.contains("length of the last close") })
      reader.store.endRead(pin)
      try reader.close()
      let database = try Database.open(at: Self.path, options: Self.options(9), disk: disk)
      #expect(try Self.contents(database) == specimen.last)
      try database.expectClean()
      try database.put("more")
      try database.close()
      let after = try #require(disk.bytes(of: Self.path))
      #expect(try after.withView { (view: ByteView) throws -> UInt64 in try FileHeader(view).leastByteCount } > 4096)
    }
  }
}
