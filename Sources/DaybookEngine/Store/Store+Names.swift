/// The names of a database's file: one, because a compaction puts another file under it.
extension Store {
  /// Throws if the file has several names. The new file takes only one of them; the others would keep the old file, which would
  /// be another database from then on.
  func checkOnlyName() throws(StoreError) {
    let count = try Store.onDisk(call: try file.linkCount())
    if count > 1 { throw .hardLinked(path: path, count: count) }
  }

  /// Throws if the name leads to another file, or to none.
  func checkHasName() throws(StoreError) {
    try Store.onDisk { () throws(DiskFailure) in
      let named = try disk.namedFile(path, besides: file.identity, header)
      if named != .ours { throw DiskFailure.nameLost(.rename, path: path, to: named) }
    }
  }

  /// The longest name of a new database. Volumes take 255 bytes, and the asset files of a copy are below NAME.unfinished.assets: with a
  /// longer name the file could be written, but not copied, and from 242 bytes on not compacted. One that has it already is opened.
  package static let longestNameByteCount = 255 - ".unfinished.assets".utf8.count

  package static func checkLengthOfName(in path: String) throws(DiskFailure) {
    let byteCount = lastName(of: path).utf8.count
    if byteCount <= longestNameByteCount || isMutant("name-of-any-length") { return }
    throw DiskFailure(.create, path: path, code: ErrorNumber.nameTooLong, byteCount: byteCount)
  }

  /// Whether no other name leads to the file; true when that is unknown.
  var hasOnlyName: Bool { (try? file.linkCount()).map { $0 <= 1 } ?? true }

  /// Removes second names that a creation or a copy has left behind because it died between taking one name and removing the
  /// other.
  func removeUnfinishedNames() throws(DiskFailure) {
    guard try file.linkCount() > 1 else { return }
    let folder = try disk.folder(holding: path)
    for suffix in [".new", ".unfinished"] {
      let name = lastName(of: path) + suffix
      if try folder.identity(of: name) == file.identity { try folder.remove(name) }
    }
  }
}
