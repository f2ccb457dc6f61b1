import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Files that together have every kind of frame, operation, body, value, page and entry of format 1. They stay in `Fixtures`:
/// later versions open them, and find in them what the text beside each says.
///
/// A file is made by its case, when it is missing and the tests run with DAYBOOK_WRITE_FIXTURE=1. So something new gets a new case, or
/// before a release the files are removed and made again.
enum KindsFixture: String, CaseIterable {
  /// What an application can bring about, in one log with checkpoints, that was closed.
  case everything
  /// The same compacted, with commits after the image.
  case image
  /// The same backed up.
  case copy
  /// What a crash before the rename leaves of the file that a compaction replaces.
  case superseded
  /// A log that fills sectors, with notes.
  case notes
  /// The same, and its last frame says that a page is damaged.
  case damagedPage
  /// What a later version may write into a file that this one reads, and does not change.
  case later
  /// An operation of 16 MB.
  case long

  static let path = "/fixture.daybook"
  static let assetPath = path + ".assets/" + FixtureRecords.assetName

  static func options() -> Database.Options {
    var options = Database.Options.simulated(seed: 18)
    options.userID = "ada"
    options.deviceID = "study"
    options.cipher = FixtureCipher()
    options.acceptsUnsealedValues = true
    options.inlineAssetByteCount = 100
    options.checkpoint.minimumLogByteCount = 1 << 20
    options.checkpoint.maximumLogByteCount = 1 << 20
    return options
  }

  /// Makes the file, and the asset that its records name.
  func made() throws -> (file: [UInt8], asset: [UInt8]?) {
    let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 64 << 20)
    switch self {
    case .everything: try FixtureRecords.make(on: disk)
    case .image:
      try FixtureRecords.make(on: disk)
      var options = KindsFixture.options()
      options.partByteCount = 8192
      let database = try Database.open(at: KindsFixture.path, options: options, disk: disk)
      try FixtureRecords.tear(database)
      try database.compact()
      try database.put("after the image", ["n": 1])
      try database.close()
    case .copy:
      try FixtureRecords.make(on: disk)
      let database = try Database.open(at: KindsFixture.path, options: KindsFixture.options(), disk: disk)
      try database.backup(to: "/copy.daybook", disk: disk)
      try database.close()
      return (try #require(disk.bytes(of: "/copy.daybook")), disk.bytes(of: KindsFixture.assetPath))
    case .superseded:
      try KindsFixture.makeSmall(on: disk) { _ in }
      return (try KindsFixture.ending(try #require(disk.bytes(of: KindsFixture.path)), with: .superseded, 2), nil)
    case .notes: return (try KindsFixture.notes(), nil)
    case .damagedPage:
      try KindsFixture.makeSmall(on: disk) { $0.closeCheckpointByteCount = 0 }
      let bytes = try #require(disk.bytes(of: KindsFixture.path))
      let page = try #require(
        Forgery.frameOffsets(of: bytes).first { bytes[$0 + 4] == FrameHeader.Kind.pages.rawValue })
      return (try KindsFixture.ending(bytes, with: .note, UInt64(page + Page.byteCount) & ~4095), nil)
    case .later: return (try KindsFixture.later(), nil)
    case .long:
      let database = try Database.open(at: KindsFixture.path, options: KindsFixture.options(), disk: disk)
      try database.write { try $0.setMetadata(Data(count: Operation.longPayloadByteCount), forKey: "state") }
      try database.put("a", ["n": 1])
      try database.close()
    }
    return (try #require(disk.bytes(of: KindsFixture.path)), disk.bytes(of: KindsFixture.assetPath))
  }

  private static func makeSmall(on disk: SimulatedDisk, _ change: (inout Database.Options) -> Void) throws {
    var options = options()
    change(&options)
    let database = try Database.open(at: path, options: options, disk: disk)
    for number in 0..<40 { try database.put("r\(number)", ["n": .int(Int64(number))]) }
    try database.close()
  }

  /// Another frame of eight bytes in the place of the `closed` one at the end.
  private static func ending(_ bytes: [UInt8], with kind: FrameHeader.Kind, _ number: UInt64) throws -> [UInt8] {
    let last = try #require(Forgery.frameOffsets(of: bytes).last)
    #expect(bytes[last + 4] == FrameHeader.Kind.closed.rawValue)
    var forged = Array(bytes[..<(last + FrameHeader.byteCount)])
    forged[last + 4] = kind.rawValue
    forged[last + 72] = 8
    for shift in 0..<8 { forged.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * shift))) }
    return Forgery.sealed(forged)
  }

  /// Never closed: what is left when the process is killed.
  private static func notes() throws -> [UInt8] {
    let disk = SimulatedDisk(seed: 1)
    var options = options()
    options.durability = .relaxed
    options.padding = true
    let database = try Database.open(at: path, options: options, disk: disk)
    for number in 0..<3 {
      try database.put("r\(number)", ["n": .int(Int64(number))])
      try database.sync()
    }
    defer { withExtendedLifetime(database) {} }
    return KindsFixture.cut(try #require(disk.killed().bytes(of: path)))
  }

  /// Without the prepared zeros at the end.
  private static func cut(_ bytes: [UInt8]) -> [UInt8] {
    Array(bytes[..<min(bytes.count, ((bytes.lastIndex { $0 != 0 } ?? 0) + 4096) & ~4095)])
  }

  private static func later() throws -> [UInt8] {
    let disk = SimulatedDisk(seed: 1)
    var options = options()
    options.durability = .relaxed
    let database = try Database.open(at: path, options: options, disk: disk)
    let marker = Array("0123456789abcdef".utf8)
    for number in 0..<3 {
      try database.put("r\(number)", ["n": .int(Int64(number))])
      try database.write { try $0.setMetadata(Data(marker.dropFirst(8)), forKey: "01234\(number)") }
      try database.sync()
    }
    defer { withExtendedLifetime(database) {} }
    var bytes = cut(try #require(disk.killed().bytes(of: path)))
    // Metadata becomes what this version does not write; each has so many bytes.
    var replacements: [(kind: UInt8, payload: [UInt8])] = [(200, marker)]
    for features in [RequiredFeatures(reading: 0, writing: 0), RequiredFeatures(reading: 0, writing: 1 << 37)] {
      let payload = ByteBuffer(capacity: 16)
      features.append(to: payload)
      replacements.append((OperationKind.requires.rawValue, payload.view.array))
    }
    for (number, replacement) in replacements.enumerated() {
      let wanted = [6, 0] + Array("01234\(number)".utf8) + marker.dropFirst(8)
      let start = try #require(bytes.indices.first { bytes[$0...].starts(with: wanted) })
      #expect(bytes[start - 1] == OperationKind.setMetadata.rawValue)
      bytes.replaceSubrange(start..<start + wanted.count, with: replacement.payload)
      bytes[start - 1] = replacement.kind
    }
    for offset in Forgery.frameOffsets(of: bytes) where bytes[offset + 4] == FrameHeader.Kind.note.rawValue {
      bytes[offset + 4] = 200
    }
    return Forgery.sealed(bytes)
  }

  // MARK: in the repository

  private var folder: URL { Pages.root.appending(path: "Tests/DaybookTests/Fixtures/format-1") }
  /// Long stretches of one byte are counted.
  private var file: URL { folder.appending(path: "\(rawValue).\(self == .long ? "runs" : "daybook")") }
  private var text: URL { folder.appending(path: "\(rawValue).txt") }
  private var asset: URL { folder.appending(path: "asset") }

  var isMissing: Bool { !FileManager.default.fileExists(atPath: file.path) }

  /// Makes it, and the text that says what is in it.
  func write() throws {
    let made = try made()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 64 << 20)
    disk.install(made.file, at: KindsFixture.path)
    if let content = made.asset {
      disk.install(content, at: KindsFixture.assetPath)
      try Data(content).write(to: asset)
    }
    var options = KindsFixture.options()
    options.isReadOnly = true
    let lines = try FixtureContents.lines(of: try Database.open(at: KindsFixture.path, options: options, disk: disk))
    try (lines.joined(separator: "\n") + "\n").write(to: text, atomically: true, encoding: .utf8)
    try Data(self == .long ? Runs.packed(made.file) : made.file).write(to: file)
  }

  func bytes() throws -> [UInt8] {
    let bytes = [UInt8](try Data(contentsOf: file))
    return self == .long ? try Runs.spelled(bytes) : bytes
  }

  /// A disk with the file and the asset.
  func installed() throws -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 1, maximumFileByteCount: 64 << 20)
    disk.install(try bytes(), at: KindsFixture.path)
    disk.install([UInt8](try Data(contentsOf: asset)), at: KindsFixture.assetPath)
    return disk
  }

  func lines() throws -> [String] {
    try String(contentsOf: text, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
  }

  /// {u32 count, bytes as they are; u32 count of zeros} over and over.
  private enum Runs {
    struct Malformed: Error {}

    static func packed(_ bytes: [UInt8]) -> [UInt8] {
      let result = ByteBuffer(capacity: 1024)
      var start = 0
      var position = 0
      while position < bytes.count {
        var end = position
        while end < bytes.count, bytes[end] == 0 { end += 1 }
        if end - position >= 64 {
          append(bytes[start..<position], end - position, to: result)
          start = end
        }
        position = max(end, position + 1)
      }
      append(bytes[start...], 0, to: result)
      return result.view.array
    }

    private static func append(_ bytes: ArraySlice<UInt8>, _ zeroCount: Int, to result: ByteBuffer) {
      result.append(uint32: UInt32(bytes.count))
      result.append(Array(bytes))
      result.append(uint32: UInt32(zeroCount))
    }

    static func spelled(_ bytes: [UInt8]) throws -> [UInt8] {
      try bytes.withView { (view: ByteView) throws -> [UInt8] in
        var result: [UInt8] = []
        var reader = ByteReader(view)
        while !reader.isAtEnd {
          guard let count = reader.uint32(), let literal = reader.take(Int(count)), let zeroCount = reader.uint32(),
            zeroCount < 1 << 28
          else { throw Malformed() }
          result += literal.array + [UInt8](repeating: 0, count: Int(zeroCount))
        }
        return result
      }
    }
  }
}

/// Seals with a byte in front and a sum at the end: always the same bytes. It keeps nothing secret.
struct FixtureCipher: FieldCipher {
  struct Refusal: Error {}

  func seal(_ plaintext: Data, context: Data) throws -> Data {
    Data([7] + plaintext.map { $0 ^ 0x5A } + [sum(plaintext, context)])
  }

  func open(_ sealed: Data, context: Data) throws -> Data {
    guard sealed.count >= 2, sealed.first == 7 else { throw Refusal() }
    let plaintext = Data(sealed.dropFirst().dropLast().map { $0 ^ 0x5A })
    guard sealed.last == sum(plaintext, context) else { throw Refusal() }
    return plaintext
  }

  private func sum(_ plaintext: Data, _ context: Data) -> UInt8 { (plaintext + context).reduce(0) { $0 &* 31 &+ $1 } }
}
