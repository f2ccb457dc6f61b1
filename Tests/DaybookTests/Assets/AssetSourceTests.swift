import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Where the content of an asset may come from: files that the caller names, other databases, and nothing that another user
// has chosen.

@Suite("where assets come from")
struct AssetSourceTests {
  private func decoded(_ json: String, takesFiles: Bool = false) throws -> Asset {
    let decoder = JSONDecoder()
    if takesFiles { decoder.userInfo[Asset.decodesFileURLs] = true }
    return try decoder.decode(Asset.self, from: Data(json.utf8))
  }

  private func value(_ asset: Asset) throws -> Record {
    var record = try Record.fresh("a")
    record["file"] = asset
    return record
  }

  private static let digest = String(repeating: "ab", count: 32)

  // MARK: what is decoded

  @Test("a decoded asset names no file of this machine: whoever wrote the JSON does not choose what is read")
  func decodedFile() throws {
    let folder = try TemporaryFolder()
    let secret = try AssetBench.file(folder, "secret", Data("top secret".utf8))
    let alone = #"{"byteCount":0,"fileURL":"\#(secret.absoluteString)"}"#
    #expect(throws: DecodingError.self) { try decoded(alone) }
    #expect(throws: DecodingError.self) {
      let value = #"{"type":"asset","value":\#(alone)}"#
      return try JSONDecoder().decode(Record.Value.self, from: Data(value.utf8))
    }
    let name = AssetBench.digest(Data("top secret".utf8)).name
    let known = #"{"sha256":"\#(name)","byteCount":10,"fileURL":"\#(secret.absoluteString)"}"#
    let asset = try decoded(known)
    #expect(asset.fileURL == nil && asset.byteCount == 10 && asset.sha256 != nil)
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    let record = try value(asset)
    #expect(failure { try database.write { try $0.save(record) } }?.code == .assetNotAvailable)
    #expect(failure { try asset.content() }?.code == .assetNotAvailable)
    // Who asks for it gets it.
    #expect(try decoded(alone, takesFiles: true).content() == Data("top secret".utf8))
    let taken = try value(try decoded(known, takesFiles: true))
    let saved = try database.write { try $0.save(taken) }
    #expect(try (saved["file"] as Asset?)?.content() == Data("top secret".utf8))
    for remote in ["https://example.com\(secret.path)", "ftp://example.com/a"] {
      let json = #"{"sha256":"\#(Self.digest)","byteCount":10,"fileURL":"\#(remote)"}"#
      #expect(throws: DecodingError.self) { try decoded(json, takesFiles: true) }
      #expect(try decoded(json).fileURL == nil)
    }
  }

  @Test("an asset that names a pipe, a device or a folder is refused at once, and no writer waits", arguments: [0, 64 << 10])
  func fifo(inlineByteCount: Int) throws {
    let folder = try TemporaryFolder()
    let pipe = folder.file("pipe")
    #expect(AssetBench.makePipe(pipe))
    let link = folder.file("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: pipe)
    let database = try Database.withFiles(at: folder.file("a.daybook")) { $0.inlineAssetByteCount = inlineByteCount }
    for path in [pipe, link, "/dev/null", "/dev/zero", folder.path] {
      #expect(failure { try Asset(fileURL: URL(filePath: path)) }?.code == .invalidArguments)
      let json = #"{"sha256":"\#(Self.digest)","byteCount":10,"fileURL":"\#(URL(filePath: path).absoluteString)"}"#
      let asset = try decoded(json, takesFiles: true)
      let record = try value(asset)
      let error = failure { try database.write { try $0.save(record) } }
      #expect(error?.code == .invalidArguments && error?.facts.key == "file", "\(path): \(String(describing: error))")
      #expect(failure { try database.prepare(asset) }?.code == .invalidArguments)
      #expect(failure { try asset.content() }?.code == .invalidArguments)
    }
    try database.put("b", asset: Asset(data: Data([1])))
  }

  @Test("a file that became a pipe since its asset was made is refused, not waited for")
  func becamePipe() throws {
    let folder = try TemporaryFolder()
    let url = try AssetBench.file(folder, "a.bin", Data())
    let asset = try Asset(fileURL: url)
    try FileManager.default.removeItem(at: url)
    #expect(AssetBench.makePipe(url.path))
    let database = try Database.withFiles(at: folder.file("a.daybook"))
    let record = try value(asset)
    #expect(failure { try database.write { try $0.save(record) } }?.code == .assetFileModified)
  }

  @Test("a file that grew beyond the limit since its asset was made is too large, however small it was", arguments: [0, 500])
  func grownBeyondLimit(inlineByteCount: Int) throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook")) {
      $0.limits.assetByteCount = 1000
      $0.inlineAssetByteCount = inlineByteCount
    }
    let url = try AssetBench.file(folder, "a.bin", Data(count: 400))
    let record = try value(try Asset(fileURL: url))
    try Data(count: 2000).write(to: url)
    let error = failure { try database.write { try $0.save(record) } }
    #expect(error?.code == .limitExceeded && error?.facts.size == 2000 && error?.facts.limit == 1000)
    try Data(count: 900).write(to: url)
    #expect(failure { try database.write { try $0.save(record) } }?.code == .assetFileModified)
    #expect(try database.storedAssets().isEmpty)
  }

  // MARK: files that are replaced

  /// Another file with the size and the times of the first one takes its name.
  private func replace(_ url: URL, by content: Data) throws {
    let date = try FileManager.default.attributesOfItem(atPath: url.path)[.modificationDate]
    let other = url.appendingPathExtension("other")
    try content.write(to: other)
    try FileManager.default.setAttributes([.modificationDate: try #require(date)], ofItemAtPath: other.path)
    try SystemDisk().rename(other.path, to: url.path)
  }

  @Test(
    "another file that has taken the name of an asset's is refused, also with the same size and time", arguments: [0, 64 << 10])
  func replacedFile(inlineByteCount: Int) throws {
    let folder = try TemporaryFolder()
    let database = try Database.withFiles(at: folder.file("a.daybook")) { $0.inlineAssetByteCount = inlineByteCount }
    let url = try AssetBench.file(folder, "a.bin", AssetBench.content(1))
    // A time that every file can be given exactly.
    let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: url.path)
    let asset = try Asset(fileURL: url)
    let state = try SystemDisk.sourceState(of: url.path)
    try #require(try SystemDisk.openSource(url.path, ifStill: state)).close()
    #expect(try asset.content() == AssetBench.content(1))
    try replace(url, by: AssetBench.content(2))
    #expect(try Asset(fileURL: url).byteCount == asset.byteCount)
    #expect(failure { try asset.content() }?.code == .assetFileModified)
    #expect(failure { try database.prepare(asset) }?.code == .assetFileModified)
    let record = try value(asset)
    #expect(failure { try database.write { try $0.save(record) } }?.code == .assetFileModified)
    #expect(try Asset(fileURL: url) != asset)
    // Between the look and the opening, too: what is opened is compared itself.
    #expect(try SystemDisk.openSource(url.path, ifStill: state) == nil)
    #expect(failure { try AssetLibrary.open(url, ifStill: state) }?.code == .assetFileModified)
  }

  @Test("an asset of a folder is reached without links: none that takes a name below leads to a file elsewhere")
  func belowFolder() throws {
    let folder = try TemporaryFolder()
    for name in ["root/inner", "outside"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
    }
    for name in ["root/inner/a", "root/b", "outside/a", "outside/b"] {
      try Data(name.utf8).write(to: URL(filePath: folder.file(name)))
    }
    let root = try SourceFolder(folder.file("root"))
    func asset(_ name: String) throws(DatabaseError) -> Asset {
      try Asset(fileURL: URL(filePath: folder.file(name)), below: root)
    }
    let (inner, direct) = (try asset("root/inner/a"), try asset("root/b"))
    #expect(try inner.content() == Data("root/inner/a".utf8) && direct.content() == Data("root/b".utf8))
    #expect(try Asset(fileURL: URL(filePath: folder.file("root/b")), below: try SourceFolder("/")).byteCount == 6)
    #expect(failure { try asset("root/none") }?.code == .assetFileNotFound)
    #expect(failure { try asset("outside/a") }?.code == .assetFileNotFound)
    #expect(failure { try asset("root") }?.code == .invalidArguments)
    #expect(failure { try asset("root/inner") }?.code == .invalidArguments)
    // Links take the names.
    try FileManager.default.moveItem(atPath: folder.file("root/inner"), toPath: folder.file("root/moved"))
    try FileManager.default.createSymbolicLink(atPath: folder.file("root/inner"), withDestinationPath: folder.file("outside"))
    try FileManager.default.removeItem(atPath: folder.file("root/b"))
    try FileManager.default.createSymbolicLink(atPath: folder.file("root/b"), withDestinationPath: "../outside/b")
    #expect(failure { try asset("root/inner/a") }?.code == .invalidArguments)
    #expect(failure { try asset("root/b") }?.code == .invalidArguments)
    // Those that were made before read nothing else either.
    for asset in [inner, direct] { #expect(failure { try asset.content() }?.code == .assetFileModified) }
    // The folder itself may be reached by a link.
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: folder.file("root"))
    let linked = try SourceFolder(folder.file("link"))
    #expect(linked.path == root.path)
    let url = URL(filePath: folder.file("root/moved/a"))
    #expect(try Asset(fileURL: url, below: linked).content() == Data("root/inner/a".utf8))
    // Once it is open, what takes its place gives nothing.
    try FileManager.default.moveItem(atPath: folder.file("root"), toPath: folder.file("former"))
    try FileManager.default.createSymbolicLink(atPath: folder.file("root"), withDestinationPath: folder.file("outside"))
    let found = try Asset(fileURL: url, below: root)
    #expect(failure { try found.content() }?.code == .assetFileNotFound)
    #expect(failure { try asset("root/a") }?.code == .assetFileNotFound)
    try FileManager.default.removeItem(atPath: folder.file("root"))
    try FileManager.default.copyItem(atPath: folder.file("former"), toPath: folder.file("root"))
    let moved = try asset("root/moved/a")
    #expect(failure { try moved.content() }?.code == .assetFileModified)
  }

  @Test("a content that is no more than a size takes no room in a database, a backup or a salvage")
  func holes() throws {
    let folder = try TemporaryFolder()
    let byteCount = 40 << 20
    let source = try SystemDisk().open(folder.file("hole"), .createNew)
    try source.truncate(to: byteCount)
    let seven = ByteBuffer(capacity: 16)
    seven.append([UInt8](repeating: 7, count: 10))
    try source.write(seven.view, at: byteCount / 2 + 5)
    // A file system without holes.
    guard source.contentStart(from: 0) > 1 << 20 else { return }
    let database = try Database.open(at: folder.file("a.daybook"))
    var record = try Record.fresh("x")
    record["hole"] = try Asset(fileURL: URL(filePath: folder.file("hole")))
    try database.save(record)
    try database.backup(to: folder.file("b.daybook"), linksAssets: false)
    var options = Database.Options()
    options.isReadOnly = true
    for name in ["a", "b"] {
      let copy = try Database.open(at: folder.file(name + ".daybook"), options: options)
      let asset = try #require(try copy.record(record.id)?["hole"] as Asset?)
      let content = try asset.content()
      #expect(content.count == byteCount && content.reduce(0) { $0 + Int($1) } == 70 && content[byteCount / 2 + 5] == 7)
      let names = try FileManager.default.subpathsOfDirectory(atPath: folder.file(name + ".daybook.assets"))
      for file in names where file.utf8.count > 60 {
        let file = try SystemDisk.openSource(folder.file(name + ".daybook.assets/" + file))
        #expect(file.contentStart(from: 0) > byteCount / 4)
        file.close()
      }
      try copy.expectClean()
      try copy.close()
    }
    try database.close()
  }

  // MARK: two databases

  @Test("a record of one database is saved in another with its assets, which the other takes from the first")
  func twoDatabases() throws {
    let folder = try TemporaryFolder()
    let (large, small) = (AssetBench.content(1, byteCount: 100_000), AssetBench.content(2, byteCount: 10))
    let list = [AssetBench.content(3, byteCount: 70_000), AssetBench.content(4, byteCount: 5)]
    let first = try Database.open(at: folder.file("a.daybook"))
    var record = try Record.fresh("x")
    record["large"] = Asset(data: large)
    record["small"] = Asset(data: small)
    record["list"] = list.map { Asset(data: $0) }
    let saved = try first.write { [record] in try $0.save(record) }
    func expectAll(_ database: Database) throws {
      let read = try #require(try database.record(record.id))
      #expect(try (read["large"] as Asset?)?.content() == large)
      #expect(try (read["small"] as Asset?)?.content() == small)
      #expect(try (read["list"] as [Asset]?)?.map { try $0.content() } == list)
      try database.expectClean()
    }
    for (index, policy) in [SavePolicy.allKeys, .changedKeys].enumerated() {
      let second = try Database.open(at: folder.file("b\(index).daybook"))
      try second.write { try $0.save(saved, policy: policy) }
      try expectAll(second)
      // Without the first one, too.
      let third = try Database.open(at: folder.file("c\(index).daybook"))
      #expect(try third.modify(saving: [saved], policy: policy).errors.isEmpty)
      try expectAll(third)
      let memory = try Database.scratch()
      try memory.write { try $0.save(saved, policy: policy) }
      try expectAll(memory)
      let fourth = try Database.open(at: folder.file("d\(index).daybook"))
      let inMemory = try #require(try memory.record(record.id))
      try fourth.write { try $0.save(inMemory, policy: policy) }
      try expectAll(fourth)
    }
    // What was not read is not taken along, and need not be there.
    let metadata = try #require(try first.records([saved.id], desiredKeys: [])[saved.id])
    let bare = try Database.open(at: folder.file("bare.daybook"))
    try bare.write { try $0.save(metadata, policy: .allKeys) }
    #expect(try bare.record(saved.id)?.keys == [])
    try bare.expectClean()
  }

  @Test("of a database that is closed nothing is taken, and the save says so; what is here already is used")
  func closedSource() throws {
    let folder = try TemporaryFolder()
    let content = AssetBench.content(1)
    let first = try Database.withFiles(at: folder.file("a.daybook"))
    let saved = try first.put("x", asset: Asset(data: content))
    let asset = try #require(saved["file"] as Asset?)
    let held = try first.prepare(Asset(data: AssetBench.content(2)))
    try first.close()
    let second = try Database.withFiles(at: folder.file("b.daybook"))
    let errors = [
      failure { try second.write { try $0.save(saved, policy: .allKeys) } },
      second.modifyError(saved), failure { try second.put("y", asset: asset) }, failure { try second.put("y", asset: held) },
    ]
    for error in errors {
      #expect(error?.code == .assetNotAvailable && error?.message.contains("closed") == true, "\(String(describing: error))")
    }
    #expect(try second.record(saved.id) == nil)
    try second.put("own", asset: Asset(data: content))
    try second.put("y", asset: asset)
    try second.write { try $0.save(saved, policy: .allKeys) }
    // The same file, opened again.
    let again = try Database.withFiles(at: folder.file("a.daybook"))
    try again.put("y", asset: asset)
    try again.write { try $0.save(saved, policy: .allKeys) }
    #expect(try (again.record(saved.id)?["file"] as Asset?)?.content() == content)
    try again.expectClean()
    try second.expectClean()
  }

  @Test("what another database has lost, damaged, or what is too large here, is refused with the reason")
  func badSource() throws {
    let folder = try TemporaryFolder()
    let first = try Database.withFiles(at: folder.file("a.daybook"))
    let saved = try first.put("x", asset: Asset(data: AssetBench.content(1)))
    let strict = try Database.withFiles(at: folder.file("c.daybook")) { $0.limits.assetByteCount = 299 }
    #expect(failure { try strict.write { try $0.save(saved, policy: .allKeys) } }?.code == .limitExceeded)
    let second = try Database.withFiles(at: folder.file("b.daybook"))
    let path = first.library.store.path(of: AssetBench.digest(AssetBench.content(1)))
    try FileManager.default.removeItem(atPath: path)
    try AssetBench.content(9).write(to: URL(filePath: path))
    #expect(failure { try second.write { try $0.save(saved, policy: .allKeys) } }?.code == .assetFileModified)
    try FileManager.default.removeItem(atPath: path)
    #expect(failure { try second.write { try $0.save(saved, policy: .allKeys) } }?.code == .assetNotAvailable)
    #expect(second.modifyError(saved)?.code == .assetNotAvailable)
    #expect(try second.record(saved.id) == nil)
    try second.expectClean()
  }

  // MARK: system fields

  @Test("system fields of a record with assets are restored, and a record is read without its assets", arguments: [10, 70_000])
  func systemFields(byteCount: Int) throws {
    let database = try Database.scratch()
    var record = try Record.fresh("a", ["title": "picture"])
    record["file"] = Asset(data: AssetBench.content(1, byteCount: byteCount))
    let saved = try database.write { [record] in try $0.save(record) }
    let partial = try #require(try database.records([saved.id], desiredKeys: [])[saved.id])
    let titled = try #require(try database.records([saved.id], desiredKeys: ["title"])[saved.id])
    let whole = try #require(try database.records([saved.id], desiredKeys: ["file", "title"])[saved.id])
    for version in [saved, partial, titled, whole] {
      var restored = try Record(systemFields: version.systemFields)
      #expect(restored.metadata?.changeTag == saved.metadata?.changeTag && restored.keys.isEmpty)
      restored["n"] = 1
    }
    #expect(partial.body.namesAssets == false && titled.body.namesAssets == false)
    #expect(whole.body.namesAssets == (byteCount > 65_536))
    var restored = try Record(systemFields: partial.systemFields)
    restored["title"] = "changed"
    let next = try database.write { [restored] in try $0.save(restored) }
    #expect((next["file"] as Asset?)?.byteCount == byteCount)
    try database.expectClean()
  }

  @Test("archives from when the flag of assets was left in are restored")
  func oldArchive() throws {
    let database = try Database.scratch()
    let saved = try database.write { try $0.save(.fresh("a")) }
    var bytes = [UInt8](saved.systemFields)
    bytes[6] |= RecordBody.Flags.assets
    let sum = UTF8Order.withView(of: Array(bytes.dropLast(4))) { ShortChecksum.of($0) }
    for index in 0..<4 { bytes[bytes.count - 4 + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index))) }
    let restored = try Record(systemFields: Data(bytes))
    #expect(restored.metadata == saved.metadata && restored.systemFields == saved.systemFields)
  }
}

extension Database {
  fileprivate func modifyError(_ record: Record) -> DatabaseError? {
    (try? modify(saving: [record], policy: .allKeys))?.errors[record.id]
  }
}
