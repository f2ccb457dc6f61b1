import Daybook
import DaybookEngine
import Foundation

/// A program that saves files as assets until it is killed, in steps that their number alone decides; `Scripts/assets.sh` is
/// what kills it.
///
/// Its input names the files, a line each: SHA-256, a tab, a path. Three of four steps save the next file in a record of its
/// own; the fourth deletes a record or saves it with another file, and so does every step once all are saved. A step is one
/// commit that also keeps its number; now and then what no record names is collected.
struct AssetTrial {
  struct Source {
    let sha256: String
    let path: String
  }

  enum Step {
    case save(record: Int, file: Int)
    case delete(record: Int)
  }

  let files: [Source]
  /// Saves the files in their order, and nothing else before all are there.
  let isOrdered: Bool

  init(listing path: String, isOrdered: Bool = false) throws {
    self.isOrdered = isOrdered
    files = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
      let parts = line.split(separator: "\t", maxSplits: 1)
      guard parts.count == 2 else { throw ToolError.usage("A line of the list is a SHA-256, a tab, a path.") }
      return Source(sha256: String(parts[0]), path: String(parts[1]))
    }
    if files.isEmpty { throw ToolError.usage("The list names no file.") }
  }

  /// What step `number` does, counted from 1. Until all are saved, each fourth step changes something that was.
  func step(_ number: Int) -> Step {
    let next = isOrdered ? number : number - number / 4
    if next <= files.count, isOrdered || number % 4 != 0 { return .save(record: next - 1, file: next - 1) }
    var mixed = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ mixed >> 31) &* 0xD6E8_FEB8_6659_FD93
    let record = Int(mixed >> 33) % min(next, files.count)
    return mixed & 3 == 0 ? .save(record: record, file: Int(mixed >> 13 & 0xFFFFF) % files.count) : .delete(record: record)
  }

  /// Which file each record holds after step `number`.
  func state(after number: Int) -> [Int: Int] {
    var state: [Int: Int] = [:]
    for step in number < 1 ? [] : (1...number).map({ self.step($0) }) {
      switch step {
      case .save(let record, let file): state[record] = file
      case .delete(let record): state[record] = nil
      }
    }
    return state
  }

  static let zone = "Files"

  static func options(isReadOnly: Bool = false) -> Database.Options {
    var options = Database.Options()
    options.isReadOnly = isReadOnly
    options.inlineAssetByteCount = 0
    options.limits.assetByteCount = .max
    options.lockTimeout = .seconds(20)
    return options
  }

  func perform(_ number: Int, on database: Database) throws {
    let zone = try Zone.ID(Self.zone)
    // Some contents are taken in before the turn, some within.
    var prepared: Record?
    if case .save(let index, let file) = step(number) {
      var record = try Record(type: "File", id: Record.ID("f\(index)", in: zone))
      record["content"] = try Asset(fileURL: URL(fileURLWithPath: files[file].path))
      prepared = number % 2 == 0 ? try database.prepare(record) : record
    }
    try database.write { [prepared] transaction in
      try transaction.save(Zone(zone))
      switch step(number) {
      case .save: if let prepared { try transaction.save(prepared, policy: .changedKeys) }
      case .delete(let index): try transaction.delete(Record.ID("f\(index)", in: zone))
      }
      try transaction.setMetadata(Data(String(number).utf8), forKey: "step")
    }
    if number % 25 == 0 { try database.collectAssets(grace: .zero) }
  }

  static func lastStep(_ database: Database) throws -> Int {
    try database.metadata(forKey: "step").flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
  }

  /// What differs between a database and what it must hold after its last step.
  func difference(_ database: Database, _ step: Int) throws -> String? {
    let expected = state(after: step)
    let records = step == 0 ? [] : try database.records(in: Zone.ID(Self.zone))
    if records.count != expected.count { return "\(records.count) records, expected \(expected.count)" }
    for record in records {
      guard let index = Int(record.id.name.dropFirst()), let file = expected[index],
        (record["content"] as Asset?)?.sha256 == files[file].sha256
      else { return "record \(record.id.name) has another content than step \(step) leaves" }
    }
    return nil
  }
}

extension Commands {
  /// How fast the digest is that names assets: `Scripts/assets.sh` holds it against sha256sum.
  static let trialHash = Command(
    name: "trial-hash", summary: "Hash a file.", positionals: ["FILE"], isHidden: true
  ) { invocation in
    let bytes = try Data(contentsOf: URL(fileURLWithPath: invocation.arguments[0]), options: .mappedIfSafe)
    // Safe: the view ends with the closure.
    let digest = unsafe bytes.withUnsafeBytes { AssetDigest(PortableSHA256.digest(of: unsafe ByteView($0))) }
    try invocation.output.line(digest.name)
    return .done
  }

  static let trialAssetWriter = Command(
    name: "trial-asset-writer", summary: "Save files as assets until killed.", positionals: ["FILE", "LIST"],
    options: [.value("--steps", "N", "End with step N."), .flag("--ordered", "Only save, in order.")], isHidden: true
  ) { invocation in
    let trial = try AssetTrial(listing: invocation.arguments[1], isOrdered: invocation.arguments.has("--ordered"))
    let database = try Database.open(at: invocation.arguments[0], options: AssetTrial.options())
    let end = try invocation.arguments.count("--steps") ?? .max
    var number = try AssetTrial.lastStep(database)
    while number < end {
      number += 1
      try trial.perform(number, on: database)
      try invocation.output.line(String(number))
      try invocation.output.flush()
    }
    try database.close()
    return .done
  }

  /// Looks at what a kill has left: read-only, then recovered, then collected. Prints the last step.
  static let trialAssetVerifier = Command(
    name: "trial-asset-verifier", summary: "Check what a killed writer of assets left.",
    positionals: ["FILE", "LIST", "ACKNOWLEDGED"], options: [.flag("--deep", "Hash every content.")], isHidden: true
  ) { invocation in
    let trial = try AssetTrial(listing: invocation.arguments[1])
    guard let acknowledged = Int(invocation.arguments[2]) else { throw ToolError.usage("ACKNOWLEDGED is a number.") }
    let depth: Database.CheckDepth = invocation.arguments.has("--deep") ? .deep : .structure
    var findings: [String] = []
    var last = 0
    for isReadOnly in [true, false] {
      let who = isReadOnly ? "read-only" : "recovered"
      let database = try Database.open(
        at: invocation.arguments[0], options: AssetTrial.options(isReadOnly: isReadOnly))
      let step = try AssetTrial.lastStep(database)
      if let problem = try trial.difference(database, step) { findings.append("\(who): \(problem)") }
      if step < last { findings.append("recovery goes back to step \(step)") }
      last = step
      if !isReadOnly {
        try database.collectAssets(grace: .zero)
        let contents = Set(trial.state(after: step).values.map { trial.files[$0].sha256 })
        let stored = try database.storedAssets()
        if Set(stored.map(\.sha256)) != contents { findings.append("\(stored.count) files, expected \(contents.count)") }
        let leftovers = try database.assetLeftovers()
        if !leftovers.isEmpty { findings.append("left after a collection: \(leftovers.prefix(5))") }
      }
      findings += try database.check(isReadOnly ? .structure : depth).findings.map { "\(who): \($0)" }
      try database.close()
    }
    if last < acknowledged { findings.append("step \(acknowledged) was acknowledged, the file ends with \(last)") }
    for finding in findings { try invocation.errors.line(finding) }
    try invocation.output.line(String(last))
    return findings.isEmpty ? .done : .finding
  }
}
