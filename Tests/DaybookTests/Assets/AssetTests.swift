import DaybookTesting
import Foundation
import Testing

@_spi(Daybook) @testable import Daybook
@testable import DaybookEngine

// Contents of assets in files of their own: kept once, counted, read back verified, and what they promise when files go.

/// What several suites of assets need.
enum AssetBench {
  /// A content that a number decides.
  static func content(_ number: Int, byteCount: Int = 300) -> Data {
    Data((0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number &* 31 &+ $0 / 256) })
  }

  static func digest(_ data: Data) -> AssetDigest {
    // Safe: the view ends with the closure.
    unsafe data.withUnsafeBytes { AssetDigest(SHA256.digest(of: unsafe ByteView($0))) }
  }

  /// Makes a pipe, at whose opening a reader waits for a writer.
  static func makePipe(_ path: String) -> Bool {
    // Safe: the path is a C string for the length of the call.
    unsafe mkfifo(path, 0o600) == 0
  }

  /// A file of the folder with a content.
  static func file(_ folder: TemporaryFolder, _ name: String, _ data: Data) throws -> URL {
    let url = URL(filePath: folder.file(name))
    try data.write(to: url)
    return url
  }
}

extension Database {
  /// Every content in a file of its own, however small.
  static func withFiles(
    at path: String, _ change: (inout Database.Options) -> Void = { _ in }
  ) throws -> Database {
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.hasBackgroundThread = false
    change(&options)
    return try Database.open(at: path, options: options)
  }

  /// Saves a record with one asset over whatever is there.
  @discardableResult
  func put(_ name: String, in zone: Zone.ID = .default, asset: Asset) throws -> Record {
    var record = try Record.fresh(name, in: zone)
    record["file"] = asset
    return try write { [record] in try $0.save(record, policy: .changedKeys) }
  }

  /// The asset files in the directory.
  func files() throws -> Set<AssetDigest> { try Set(library.store.inventory().digests) }
}

@Suite("assets in files")
struct AssetTests {
  @Test("a content lies once under its SHA-256, read-only, and comes back as it was, also after the file was opened again")
  func roundTrip() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let content = AssetBench.content(1, byteCount: 3_000_000)
    let name = AssetBench.digest(content).name
    do {
      let database = try Database.withFiles(at: path) { $0.inlineAssetByteCount = 64 << 10 }
      let url = try AssetBench.file(folder, "picture.bin", content)
      let saved = try database.put("a", asset: try Asset(fileURL: url))
      try FileManager.default.removeItem(at: url)
      let asset = try #require(saved["file"] as Asset?)
      #expect(asset.sha256 == name && asset.data == nil && asset.byteCount == content.count)
      #expect(try asset.content() == content)
      let stored = "\(path).assets/\(name.prefix(2))/\(name)"
      #expect(try Data(contentsOf: URL(filePath: stored)) == content)
      let mode = try FileManager.default.attributesOfItem(atPath: stored)[.posixPermissions] as? Int
      #expect(mode == 0o444)
      // Nothing of the ingest is left.
      let names = try FileManager.default.contentsOfDirectory(atPath: path + ".assets").sorted()
      #expect(names == [String(name.prefix(2)), "owner"])
      let fileByteCount = try database.statistics().fileByteCount
      #expect(fileByteCount < 1 << 20, "the content is not in the log")
      try database.close()
    }
    let database = try Database.withFiles(at: path)
    let asset = try #require(try database.record(Record.ID("a"))?["file"] as Asset?)
    var pieces = 0
    var read = Data()
    try asset.readContent { piece in
      pieces += 1
      read += piece
    }
    #expect(read == content && pieces > 1)
    let statistics = try database.statistics()
    #expect(statistics.assetCount == 1 && statistics.assetByteCount == content.count)
    try database.expectClean()
  }

  @Test("equal contents are kept once and counted, from files and from bytes, in records, lists and zones")
  func once() throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    let zone = try database.zone("Other")
    let (content, other) = (AssetBench.content(1), AssetBench.content(2))
    let url = try AssetBench.file(folder, "picture.bin", content)
    try database.put("a", asset: try Asset(fileURL: url))
    try database.put("b", asset: Asset(data: content))
    try database.put("c", in: zone, asset: Asset(data: content))
    var list = try Record.fresh("list")
    list["pages"] = [Asset(data: content), Asset(data: other), Asset(data: content), Asset(data: Data())]
    try database.write { [list] in try $0.save(list) }
    let stored = try database.storedAssets()
    #expect(stored.count == 3 && stored.allSatisfy { $0.state == .stored })
    let counts = Dictionary(uniqueKeysWithValues: stored.map { ($0.sha256, $0.referenceCount) })
    #expect(counts[AssetBench.digest(content).name] == 5)
    #expect(counts[AssetBench.digest(other).name] == 1)
    #expect(counts[AssetBench.digest(Data()).name] == 1)
    try database.expectClean()
  }

  @Test("counts follow every save, delete, savepoint and zone, in step with a dictionary", arguments: [UInt64(1), 2, 3])
  func counts(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
    let database = try Database.scratch(seed: seed) { $0.inlineAssetByteCount = 0 }
    let zones = try [.default, database.zone("A"), database.zone("B")]
    var model: [Record.ID: [Int]] = [:]
    for step in 0..<250 {
      var next = model
      try? database.write { transaction in
        for _ in 0...number(0..<3) {
          let zone = zones[number(0..<zones.count)]
          let id = try Record.ID("r\(number(0..<5))", in: zone)
          switch number(0..<12) {
          case 0..<6:
            let contents = (0..<number(0..<4)).map { _ in number(0..<6) }
            var record = try Record.fresh(id.name, in: zone)
            record["list"] = contents.map { Asset(data: AssetBench.content($0, byteCount: 20)) }
            try transaction.save(record, policy: .changedKeys)
            next[id] = contents
          case 6:
            // Another field: the assets are copied with the body.
            guard next[id] != nil else { continue }
            try transaction.save(.fresh(id.name, in: zone, ["n": .int(Int64(step))]), policy: .changedKeys)
          case 7..<9:
            try transaction.delete(id)
            next[id] = nil
          case 9:
            try? transaction.savepoint {
              try transaction.delete(id)
              throw Intended()
            }
          case 10:
            guard zone != .default else { continue }
            try transaction.deleteZone(zone)
            try transaction.save(Zone(zone))
            next = next.filter { $0.key.zone != zone }
          default:
            next = model
            throw Intended()
          }
        }
        model = next
      }
      var expected: [AssetDigest: Int] = [:]
      for numbers in model.values {
        for number in numbers { expected[AssetBench.digest(AssetBench.content(number, byteCount: 20)), default: 0] += 1 }
      }
      let found = try database.reading { (view) throws(DatabaseError) in try view.assets() }.mapValues { Int($0.count) }
      try #require(found == expected, "step \(step), seed \(seed)")
      if step % 50 == 49 {
        try database.expectClean()
        try database.collectAssets(grace: .zero)
        #expect(try database.files() == Set(expected.keys))
      }
    }
    try database.expectClean()
  }

  @Test("what was handed out can be damaged without harm to the stored content, and is not handed out again")
  func handedOut() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let content = AssetBench.content(1)
    let database = try Database.withFiles(at: path)
    try database.put("a", asset: Asset(data: content))
    let asset = try #require(try database.record(Record.ID("a"))?["file"] as Asset?)
    let url = try #require(asset.fileURL)
    #expect(try Data(contentsOf: url) == content)
    #expect(asset.fileURL == url, "one copy is enough")
    let stored = URL(filePath: database.library.store.path(of: AssetBench.digest(content)))
    #expect(url != stored)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: url.path)
    let handle = try FileHandle(forWritingTo: url)
    try handle.write(contentsOf: Data("damage".utf8))
    try handle.close()
    #expect(try Data(contentsOf: stored) == content)
    #expect(try asset.content() == content)
    let second = try database.asset("file", of: Record.ID("a"))
    #expect(second != url)
    #expect(try Data(contentsOf: second) == content)
    try FileManager.default.removeItem(at: second)
    #expect(try Data(contentsOf: database.asset("file", of: Record.ID("a"))) == content)
    try database.expectClean()
    // Collections leave alone what was handed out, and take what earlier opens handed out.
    try database.collectAssets(grace: .zero)
    #expect(FileManager.default.fileExists(atPath: try database.asset("file", of: Record.ID("a")).path))
    try database.close()
    let again = try Database.withFiles(at: path)
    #expect(try again.collectAssets(grace: .zero).removedLeftoverCount == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path + ".assets/staged").isEmpty)
  }

  @Test("a missing or changed file is an error of that field alone; the record stays readable, and the check names the file")
  func damagedFiles() throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    let contents = (0..<4).map { AssetBench.content($0) }
    var record = try Record.fresh("a", ["title": "kept"])
    for (index, content) in contents.enumerated() { record["f\(index)"] = Asset(data: content) }
    try database.write { [record] in try $0.save(record) }
    let paths = contents.map { database.library.store.path(of: AssetBench.digest($0)) }
    try FileManager.default.removeItem(atPath: paths[0])
    for (index, damaged) in [(1, contents[1] + [0]), (2, Data(contents[2].map { $0 ^ 1 }))] {
      try FileManager.default.removeItem(atPath: paths[index])
      try damaged.write(to: URL(filePath: paths[index]))
    }
    let read = try #require(try database.record(record.id))
    #expect(read["title"] == "kept")
    let expected: [DatabaseError.Code?] = [.assetFileNotFound, .assetFileModified, .assetFileModified, nil]
    for index in 0..<4 {
      let asset = try #require(read["f\(index)"] as Asset?)
      let error = failure { try asset.content() }
      #expect(error?.code == expected[index])
      #expect(error == nil || error?.facts.path == paths[index])
      let named = failure { try database.asset("f\(index)", of: record.id) }
      #expect(named?.code == expected[index] && named?.facts.key == (expected[index] == nil ? nil : "f\(index)"))
      #expect((asset.fileURL == nil) == (expected[index] != nil))
    }
    let (shallow, deep) = (try database.check(.structure), try database.check(.deep))
    #expect(shallow.findings.count == 2 && deep.findings.count == 3, "\(deep.findings)")
    #expect(deep.findings.map(\.message).contains { $0.contains(paths[2]) })
    let states = try database.storedAssets().reduce(into: [:]) { $0[$1.sha256] = $1.state }
    #expect(states[AssetBench.digest(contents[0]).name] == .missing)
    #expect(states[AssetBench.digest(contents[1]).name] == .damaged)
    // The same content saved again puts a sound file in the place of a missing or shorter one.
    try database.put("b", asset: Asset(data: contents[0]))
    try database.put("c", asset: Asset(data: contents[1]))
    #expect(try read["f0"].map { (asset: Asset) in try asset.content() } == contents[0])
    #expect(try read["f1"].map { (asset: Asset) in try asset.content() } == contents[1])
  }

  @Test("the check tells of counts that are not what records name")
  func wrongCounts() throws {
    let database = try Database.scratch { $0.inlineAssetByteCount = 0 }
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    var report = Database.CheckReport()
    try database.reading { (view) throws(DatabaseError) in
      let check = ContributionCheck(of: try view.existingZone(.default), view.reader, IndexList(), zoneName: "z")
      func key(_ number: Int) -> [UInt8] {
        let content = AssetBench.content(number)
        return AssetBench.digest(content).bytes + (0..<8).map { UInt8(truncatingIfNeeded: content.count >> (56 - 8 * $0)) }
      }
      let named: [[[UInt8]: Int64]] = [[key(1): 1], [key(1): 2], [:], [key(1): 1, key(2): 1]]
      for (index, counts) in named.enumerated() {
        do { try check.compare(counts, with: .assets, &report) } catch { Issue.record("\(error)") }
        #expect(report.findings.count == index)
      }
    }
  }

  @Test("sizes and counts that only a forger writes are added without a trap, and no room is made for them")
  func forgedNumbers() throws {
    func entry(_ count: UInt64, _ byteCount: UInt64) -> AssetTree.Entry? {
      let (key, value) = (ByteBuffer(capacity: 40), ByteBuffer(capacity: 8))
      key.append(zeros: 32)
      key.append(uint64: byteCount.byteSwapped)
      value.append(uint64: count)
      return AssetTree.Entry(key: key.view, value: value.view)
    }
    let largest = try #require(entry(1, .max))
    let assets = [AssetBench.digest(AssetBench.content(1)): largest, AssetBench.digest(AssetBench.content(2)): largest]
    #expect(assets.totalByteCount == .max)
    #expect(entry(0, 1) == nil && entry(1 << 60, 1) == nil)
    let folder = try TemporaryFolder()
    let url = try AssetBench.file(folder, "small.bin", AssetBench.content(1))
    for database in try [
      Database.scratch { $0.limits = .unlimited }, .withFiles(at: folder.file("a")) { $0.limits = .unlimited },
    ] {
      let asset = Asset(digest: [UInt8](repeating: 1, count: 32), byteCount: .max, fileURL: url)
      #expect(failure { try database.put("a", asset: asset) }?.code == .assetFileModified)
    }
  }

  @Test("a database that is open for reading only writes nothing, and hands out copies all the same")
  func readOnly() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.daybook")
    let content = AssetBench.content(1)
    do {
      let database = try Database.withFiles(at: path)
      try database.put("a", asset: Asset(data: content))
      try database.close()
    }
    let before = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
    var url: URL?
    do {
      let database = try Database.withFiles(at: path) { $0.isReadOnly = true }
      let asset = try #require(try database.record(Record.ID("a"))?["file"] as Asset?)
      #expect(try asset.content() == content)
      url = asset.fileURL
      #expect(try url.map { try Data(contentsOf: $0) } == content)
      #expect(failure { try database.collectAssets() }?.code == .readOnly)
      #expect(failure { try database.prepare(Asset(data: content)) }?.code == .readOnly)
      try database.expectClean()
      try database.close()
    }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted() == before)
  }

  @Test("a prepared asset is stored before its transaction, is not read again, and stays until it is saved")
  func prepared() throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    let content = AssetBench.content(1)
    let url = try AssetBench.file(folder, "picture.bin", content)
    var record = try Record.fresh("a")
    record["file"] = try Asset(fileURL: url)
    record = try database.prepare(record)
    #expect((record["file"] as Asset?)?.sha256 == AssetBench.digest(content).name)
    #expect(try (record["file"] as Asset?)?.content() == content)
    try FileManager.default.removeItem(at: url)
    // No record refers to it yet, so a collection removes its name; the value keeps the bytes.
    #expect(try database.collectAssets(grace: .zero).removedCount == 1)
    #expect(try database.files().isEmpty)
    try database.write { [record] in try $0.save(record) }
    #expect(try (database.record(record.id)?["file"] as Asset?)?.content() == content)
    record = try Record.fresh("gone")
    #expect(try database.library.store.inventory().leftovers.isEmpty)
    try database.expectClean()
    // What was never saved goes with its value.
    _ = try database.prepare(Asset(data: AssetBench.content(2)))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: database.library.store.directory).allSatisfy {
        $0.count == 2 || $0 == "owner"
      })
    #expect(try database.collectAssets(grace: .zero).removedCount == 1)
  }

  @Test("modify takes assets in before the turn, and a bad one is its own item's error")
  func modify() async throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    var good = try Record.fresh("good")
    good["file"] = Asset(data: AssetBench.content(1))
    var bad = try Record.fresh("bad")
    let url = try AssetBench.file(folder, "picture.bin", AssetBench.content(2))
    bad["file"] = try Asset(fileURL: url)
    try FileManager.default.removeItem(at: url)
    let result = try await database.modify(
      saving: [good, bad], deleting: [], policy: .ifServerRecordUnchanged, atomically: false)
    #expect(result.errors.count == 1 && result.errors[bad.id]?.code == .assetFileNotFound)
    let stored = try await database.record(good.id)
    #expect(try (stored?["file"] as Asset?)?.content() == AssetBench.content(1))
    let through: any RecordDatabase = database
    #expect(try await Data(contentsOf: through.asset("file", of: good.id)) == AssetBench.content(1))
    #expect(failure { try database.asset("none", of: good.id) }?.code == .unknownItem)
    #expect(failure { try database.asset("file", of: bad.id) }?.code == .unknownItem)
    #expect(failure { try database.asset("file", of: Record.ID("a", in: Zone.ID("none"))) }?.code == .zoneNotFound)
  }

  @Test("an asset moves between records and databases; a content that is gone is refused, with its field's error")
  func elsewhere() throws {
    let folder = try TemporaryFolder()
    let first = try Database.withFiles(at: folder.file("a.daybook"))
    let second = try Database.withFiles(at: folder.file("b.daybook"))
    let memory = try Database.scratch { $0.inlineAssetByteCount = 0 }
    let content = AssetBench.content(1)
    let saved = try first.put("a", asset: Asset(data: content))
    let asset = try #require(saved["file"] as Asset?)
    for target in [first, second, memory] {
      try target.put("b", asset: asset)
      #expect(try (target.record(Record.ID("b"))?["file"] as Asset?)?.content() == content)
      try target.expectClean()
    }
    let inMemory = try #require(try memory.record(Record.ID("b"))?["file"] as Asset?)
    try second.put("c", asset: inMemory)
    let decoder = JSONDecoder()
    decoder.userInfo[Asset.decodesFileURLs] = true
    let coded = try decoder.decode(Asset.self, from: JSONEncoder().encode(asset))
    try second.put("d", asset: coded)
    #expect(try second.files().count == 1)
    // A held one of another database, too.
    try second.put("e", asset: try first.prepare(Asset(data: AssetBench.content(5))))
    #expect(try (second.record(Record.ID("e"))?["file"] as Asset?)?.content() == AssetBench.content(5))

    // An old version is saved again after its content went.
    try first.write { try $0.delete(saved.id) }
    try first.write { try $0.delete(Record.ID("b")) }
    try first.collectAssets(grace: .zero)
    #expect(try first.history(of: saved.id).count == 2, "the history is there, its assets are not")
    let error = failure { try first.write { try $0.save(saved, policy: .allKeys) } }
    #expect(error?.code == .assetNotAvailable && error?.facts.name == "a")
    #expect(failure { try asset.content() }?.code == .assetFileNotFound)
    #expect(try first.record(saved.id) == nil)
    try first.expectClean()
  }

  @Test("a copy that ends elsewhere than announced is refused: a file that grew or shrank since the asset was made")
  func sourceChanges() throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    let url = try AssetBench.file(folder, "picture.bin", AssetBench.content(1))
    let asset = try Asset(fileURL: url)
    try AssetBench.content(1, byteCount: 200).write(to: url)
    #expect(failure { try database.put("a", asset: asset) }?.code == .assetFileModified)
    // The store itself: its caller looked at the file a moment too early.
    let file = try SystemDisk().open(url.path, .readOnly)
    for byteCount in [199, 201] {
      #expect(throws: AssetFault.self) { try database.library.store.ingest(.file(file), byteCount: byteCount) }
    }
    #expect(try database.files().isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: database.library.store.directory) == ["owner"])
  }

  @Test("a check called a database damaged whose disk did not let a content be opened, and a list called it missing")
  func noAnswer() throws {
    let (disk, folder) = (HookedDisk(), try TemporaryFolder())
    var options = Database.Options()
    options.inlineAssetByteCount = 0
    options.hasBackgroundThread = false
    let database = try Database.open(at: folder.file("a"), options: options, disk: disk)
    try database.put("r1", asset: Asset(data: AssetBench.content(1)))
    let contents = folder.file("a.assets/")
    disk.before { operation, path throws(DiskFailure) in
      guard operation == .open, path.hasPrefix(contents), path.utf8.count > contents.utf8.count + 64 else { return }
      throw DiskFailure(.open, path: path, kind: .other, code: 24)
    }
    #expect(failure { _ = try database.check(.structure) }?.code == .ioFailed)
    #expect(failure { _ = try database.check(.deep) }?.code == .ioFailed)
    #expect(failure { _ = try database.storedAssets() }?.code == .ioFailed)
    disk.before(nil)
    try database.expectClean()
    #expect(try database.storedAssets().map(\.state) == [.stored])
    try database.close()
  }

  @Test("a full disk and a failed sync leave no name behind; after a failed sync nothing is taken in until the next open")
  func failures() throws {
    let disk = SimulatedDisk(seed: 5)
    let database = try Database.open(on: disk, seed: 5) { $0.inlineAssetByteCount = 0 }
    try database.put("a", asset: Asset(data: AssetBench.content(1)))
    let used = disk.paths.reduce(0) { $0 + (disk.bytes(of: $1)?.count ?? 0) }
    disk.limit(toByteCount: used + 100)
    #expect(failure { try database.put("b", asset: Asset(data: AssetBench.content(2))) }?.code == .diskFull)
    disk.limit(toByteCount: nil)
    #expect(try database.files().count == 1)
    try database.put("b", asset: Asset(data: AssetBench.content(2)))
    disk.inject(SimulatedFault([.sync], call: 1))
    #expect(failure { try database.put("c", asset: Asset(data: AssetBench.content(3))) }?.code == .ioFailed)
    disk.removeFaults()
    #expect(failure { try database.put("c", asset: Asset(data: AssetBench.content(3))) }?.code == .ioFailed)
    #expect(try database.record(Record.ID("c")) == nil)
    try database.put("d", ["n": 1])
    try database.close()
    let again = try Database.open(on: disk, seed: 6) { $0.inlineAssetByteCount = 0 }
    try again.put("c", asset: Asset(data: AssetBench.content(3)))
    try again.expectClean()
  }
}

extension Database {
  @discardableResult
  fileprivate func put(_ name: String, _ values: [String: Record.Value]) throws -> Record {
    try put(name, in: .default, type: "Note", values)
  }
}
