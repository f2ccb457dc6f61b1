import Daybook
import DaybookEngine
import Foundation

/// Forged files: a valid small database with a list of edits, or the fuzzer's own log behind a valid header. Checksums are
/// corrected, unless the input asks for broken ones.
///
///     byte 0    & 3: 0 the rest is the file, as it is; 1 the rest is the log behind a sound header, sealed;
///                    2 edits of a sound database, sealed; 3 the same, and then edits that stay broken
///               >> 2 & 3: which database; & 0x20: a small one like it
///     edits     {u8 operation, u8 frame, u16 offset in the frame, then what the operation needs}
package enum FuzzForging {
  package static func image(_ input: [UInt8]) -> [UInt8] {
    // The empty input comes first, and its coverage does not count: use it to make the databases.
    if input.isEmpty { _ = (bases, smallBases) }
    var input = FuzzInput(input)
    let mode = input.byte()
    switch mode & 3 {
    case 0: return input.rest()
    case 1: return Forgery.sealed(Forgery.header() + input.rest())
    default:
      var draft = Draft((mode & 0x20 == 0 ? bases : smallBases)[mode >> 2 & 3])
      var remaining = 24
      while !input.isAtEnd, remaining > 0 {
        edit(&draft, &input)
        remaining -= 1
      }
      draft.replace(by: Forgery.sealed(draft.image))
      if mode & 3 == 3, !draft.image.isEmpty {
        for _ in 0...mode >> 6 {
          let offset = draft.place(&input)
          draft.set([draft.image[offset] ^ UInt8(1 << (input.byte() & 7))], at: offset)
        }
      }
      return draft.image
    }
  }

  /// An image under edits, and where its frames begin: searched again only after an edit that may have changed that.
  private struct Draft {
    private(set) var image: [UInt8]
    private var knownFrames: [Int]?

    init(_ image: [UInt8]) { self.image = image }

    /// The header of the file, and each frame.
    mutating func frames() -> [Int] {
      if let knownFrames { return knownFrames }
      let frames = [0] + Forgery.frameOffsets(of: image)
      knownFrames = frames
      return frames
    }

    mutating func place(_ input: inout FuzzInput) -> Int {
      let frames = frames()
      let frame = input.number(below: min(256, frames.count))
      let end = frame + 1 < frames.count ? frames[frame + 1] : image.count
      return min(frames[frame] + input.number() % max(1, end - frames[frame]), image.count - 1)
    }

    /// Bytes behind the end of the image are left out.
    mutating func set(_ bytes: [UInt8], at offset: Int) {
      let count = min(bytes.count, image.count - offset)
      if !isPayload(offset..<offset + count) { knownFrames = nil }
      image.replaceSubrange(offset..<offset + count, with: bytes.prefix(count))
    }

    mutating func replace(by other: [UInt8]) {
      image = other
      knownFrames = nil
    }

    /// Whether a range lies in the payload of one frame, whose bytes do not affect where frames are. Behind the last frame, any
    /// bytes may form another frame.
    private func isPayload(_ range: Range<Int>) -> Bool {
      guard let knownFrames, let index = knownFrames.lastIndex(where: { $0 <= range.lowerBound }), index > 0 else {
        return false
      }
      let header = knownFrames[index]..<knownFrames[index] + FrameHeader.byteCount
      return !header.contains(range.lowerBound) && range.upperBound <= Forgery.payloadEnd(of: image, at: header.lowerBound)
    }
  }

  private static func edit(_ draft: inout Draft, _ input: inout FuzzInput) {
    if draft.image.isEmpty { return }
    let operation = input.byte() & 7
    let offset = draft.place(&input)
    func word(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
    switch operation {
    case 0: draft.set([UInt8(input.byte())], at: offset)
    case 1: draft.set([draft.image[offset] ^ UInt8(1 << (input.byte() & 7))], at: offset)
    case 2: draft.set(word(UInt64(input.byte())), at: offset)
    case 3:
      var number: UInt64 = 0
      for (index, byte) in draft.image[offset...].prefix(8).enumerated() { number |= UInt64(byte) << (index * 8) }
      draft.set(word(number &+ UInt64(bitPattern: Int64(Int8(truncatingIfNeeded: input.byte())))), at: offset)
    case 4:
      let source = draft.place(&input)
      let count = min(input.number(), draft.image.count - max(source, offset))
      draft.set(Array(draft.image[source..<source + count]), at: offset)
    case 5: draft.replace(by: Array(draft.image.prefix(offset)))
    case 6: appendFrame(&draft, &input)
    default: draft.set(input.bytes(8), at: offset)
    }
  }

  /// Appends a copy of a frame as the next frame.
  private static func appendFrame(_ draft: inout Draft, _ input: inout FuzzInput) {
    let frames = Array(draft.frames().dropFirst())
    var image = draft.image
    guard let last = frames.last, image.count < 1 << 17 else { return }
    let frame = input.number(below: min(256, frames.count))
    let end = frame + 1 < frames.count ? frames[frame + 1] : image.count
    var copy = Array(image[frames[frame]..<end])
    guard copy.count >= 96, last + 96 <= image.count else { return }
    // Frame number and commit sequence follow those of the last frame; the input says whether the sequence grows.
    for (field, step) in [(24, 1), (32, input.byte() & 1)] {
      let number = (0..<8).reduce(UInt64(0)) { $0 | UInt64(image[last + field + $1]) << ($1 * 8) } &+ UInt64(step)
      for index in 0..<8 { copy[field + index] = UInt8(truncatingIfNeeded: number >> (index * 8)) }
    }
    // The last frame is followed by prepared space, which the copy overwrites.
    let size = (0..<8).reduce(UInt64(0)) { $0 | UInt64(image[last + 72 + $1]) << ($1 * 8) }
    if size < UInt64(image.count) {
      let end = (last + 96 + Int(size) + 7) & ~7
      if end < image.count { image.removeSubrange(end...) }
    }
    while image.count & 7 != 0 { image.append(0) }
    draft.replace(by: image + copy)
  }

  // MARK: sound databases

  /// Small files after a checkpoint, a crash and large transactions. Seeds decide everything in them.
  static let bases = makeBases(isSmall: false)
  /// The same with a few records: these find most mistakes in a fraction of the time.
  private static let smallBases = makeBases(isSmall: true)

  private static func makeBases(isSmall: Bool) -> [[UInt8]] {
    [
      base(isSmall) { options, _ in options.closeCheckpointByteCount = 0 },
      base(isSmall) { options, isClosed in
        options.checkpoint.minimumLogByteCount = 4 << 10
        isClosed = false
      },
      base(isSmall) { options, isClosed in
        options.partByteCount = 300
        options.checkpoint.minimumLogByteCount = 1 << 20
        isClosed = false
      },
      base(isSmall) { options, _ in
        options.partByteCount = 300
        options.padding = true
        options.closeCheckpointByteCount = 0
      },
    ]
  }

  static func options(seed: UInt64) -> Database.Options {
    var options = Database.Options.simulated(seed: seed)
    options.freeAtOnce()
    options.lockTimeout = .zero
    options.userID = "u"
    options.prefersIndexes = true
    options.checkpoint.minimumLogByteCount = 16 << 10
    return options
  }

  static func disk(seed: UInt64 = 1) -> SimulatedDisk { SimulatedDisk(seed: seed, maximumFileByteCount: 4 << 20) }

  private static func base(_ isSmall: Bool, _ change: (inout Database.Options, inout Bool) -> Void) -> [UInt8] {
    var options = options(seed: 7)
    var isClosed = true
    change(&options, &isClosed)
    let disk = disk()
    do {
      let database = try Database.open(at: "a.daybook", options: options, disk: disk)
      if isSmall { try fillLittle(database) } else { try fill(database) }
      if isClosed { try database.close() } else { disk.stop() }
      return disk.bytes(of: "a.daybook") ?? []
    } catch { preconditionFailure("a sound database can be made: \(error)") }
  }

  private static func record(_ name: String, _ zone: Zone.ID, _ number: Int64) throws -> Record {
    var record = try Record(type: (name.utf8.last ?? 0) & 1 == 0 ? "Even" : "Odd", id: Record.ID(name, in: zone))
    record["n"] = number
    record["s"] = String(repeating: "s", count: Int(number) & 31)
    return record
  }

  /// The first commit of both: a zone with some records, and metadata.
  private static func fillLibrary(_ database: Database, recordCount: Int64) throws -> Zone.ID {
    let library = try Zone.ID("L")
    try database.write { transaction in
      try transaction.save(Zone(library))
      for number in 0..<recordCount {
        try transaction.save(try record("r\(number)", library, number), policy: .changedKeys)
      }
      try transaction.setMetadata(Data([1, 2]), forKey: "state")
    }
    return library
  }

  private static func fillLittle(_ database: Database) throws {
    let library = try fillLibrary(database, recordCount: 4)
    try database.write { transaction in
      try transaction.save(try record("r1", library, 11), policy: .changedKeys)
      try transaction.delete(Record.ID("r2", in: library))
      try transaction.save(try record("x", .default, 5), policy: .changedKeys)
    }
  }

  private static func fill(_ database: Database) throws {
    struct Intended: Error {}
    let library = try fillLibrary(database, recordCount: 5)
    try database.write { transaction in
      try transaction.save(try record("r1", library, 11), policy: .changedKeys)
      try transaction.delete(Record.ID("r2", in: library))
    }
    try database.write { transaction in
      for number in 0..<6 as Range<Int64> {
        try transaction.save(try record("x\(number)", .default, number), policy: .changedKeys)
      }
      do {
        try transaction.savepoint {
          for number in 0..<6 as Range<Int64> {
            try transaction.save(try record("never\(number)", .default, number), policy: .changedKeys)
          }
          throw Intended()
        }
      } catch is Intended {}
      try transaction.save(Zone(Zone.ID("gone")))
    }
    try database.write { try $0.deleteZone(Zone.ID("gone"), reason: .purged) }
    for round in 0..<4 as Range<Int64> {
      try database.write { transaction in
        for number in 0..<9 as Range<Int64> {
          try transaction.save(try record("many\(number)", library, number &+ round), policy: .changedKeys)
        }
      }
    }
    try database.write { try $0.forgetDeletions(through: 1) }
    try database.write { transaction in
      try transaction.setMetadata(Data([3]), forKey: "late")
      try transaction.save(try record("last", .default, 9), policy: .changedKeys)
    }
  }

  // MARK: targets

  package static func frame(_ input: [UInt8]) throws { try Forgery.examineLog(image(input)) }

  /// Byte 0 even: steps of three bytes as the second byte says how many, then pages. Odd: a forged file whose pages these are.
  package static func page(_ input: [UInt8]) throws {
    var input = FuzzInput(input)
    let mode = input.byte()
    let steps = input.bytes(3 * (input.byte() & 63))
    if mode & 1 == 0 {
      var pages = input.rest()
      pages += [UInt8](repeating: 0, count: (4096 - pages.count & 4095) & 4095)
      return try Forgery.examinePages(Array(pages.prefix(8 * 4096)), steps: steps)
    }
    let image = Self.image([UInt8(mode & 0x0C | 2)] + input.rest())
    try Forgery.examinePages(Array(image.dropFirst(4096).prefix(64 << 10)), steps: steps)
  }
}
