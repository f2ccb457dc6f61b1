import CLevelDB
import Foundation

/// LevelDB with what it has to be tuned: a bloom filter of 10 bits a key, a block cache of 512 MB, a write buffer of 64 MB,
/// files of 64 MB, no compression, the log synced at each commit or not.
///
/// Its C interface copies every value that a get returns. It has no flush: an open after a close replays the log, up to one
/// write buffer. Compacting is a manual compaction of everything; rows that read use a file after one.
final class LevelPeer: Peer {
  private let database: OpaquePointer
  private let options, cache, filter: OpaquePointer
  private let writeOptions: OpaquePointer

  /// - Parameter leavesLog: the write buffer holds all that will be written, so that whoever opens next finds it in the log.
  init(_ path: String, isSynced: Bool, leavesLog: Bool = false) throws {
    options = leveldb_options_create()
    cache = leveldb_cache_create_lru(512 << 20)
    filter = leveldb_filterpolicy_create_bloom(10)
    leveldb_options_set_create_if_missing(options, 1)
    leveldb_options_set_cache(options, cache)
    leveldb_options_set_filter_policy(options, filter)
    leveldb_options_set_write_buffer_size(options, leavesLog ? 256 << 20 : 64 << 20)
    leveldb_options_set_max_file_size(options, 64 << 20)
    leveldb_options_set_compression(options, Int32(leveldb_no_compression))
    writeOptions = leveldb_writeoptions_create()
    leveldb_writeoptions_set_sync(writeOptions, isSynced ? 1 : 0)
    var error: UnsafeMutablePointer<CChar>?
    let opened = leveldb_open(options, path, &error)
    try LevelPeer.check(error)
    guard let opened else { throw BenchmarkFault("LevelDB: cannot open \(path)") }
    database = opened
  }

  func session(_ use: SessionUse) throws -> Session { Session(database, writeOptions) }

  func compact() throws { leveldb_compact_range(database, nil, 0, nil, 0) }

  func close() throws {
    leveldb_close(database)
    leveldb_writeoptions_destroy(writeOptions)
    leveldb_options_destroy(options)
    leveldb_cache_destroy(cache)
    leveldb_filterpolicy_destroy(filter)
  }

  @inline(__always)
  static func check(_ error: UnsafeMutablePointer<CChar>?) throws {
    if let error {
      defer { leveldb_free(error) }
      throw BenchmarkFault("LevelDB: \(String(cString: error))")
    }
  }

  final class Session: PeerSession {
    private let database, writeOptions: OpaquePointer
    private let batch: OpaquePointer
    private let readOptions: OpaquePointer
    private var snapshot, iterator: OpaquePointer?
    private var copied: UnsafeMutablePointer<CChar>?

    init(_ database: OpaquePointer, _ writeOptions: OpaquePointer) {
      self.database = database
      self.writeOptions = writeOptions
      batch = leveldb_writebatch_create()
      readOptions = leveldb_readoptions_create()
    }

    func begin(isAscending: Bool) throws { leveldb_writebatch_clear(batch) }

    func put(
      _ key: UnsafeMutableRawPointer, _ keyByteCount: Int, _ value: UnsafeMutableRawPointer, _ valueByteCount: Int
    ) throws {
      leveldb_writebatch_put(batch, characters(key), keyByteCount, characters(value), valueByteCount)
    }

    func delete(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws {
      leveldb_writebatch_delete(batch, characters(key), keyByteCount)
    }

    func commit() throws {
      var error: UnsafeMutablePointer<CChar>?
      leveldb_write(database, writeOptions, batch, &error)
      try check(error)
    }

    func putAlone(
      _ key: UnsafeMutableRawPointer, _ keyByteCount: Int, _ value: UnsafeMutableRawPointer, _ valueByteCount: Int
    ) throws {
      var error: UnsafeMutablePointer<CChar>?
      leveldb_put(
        database, writeOptions, characters(key), keyByteCount, characters(value), valueByteCount, &error)
      try check(error)
    }

    func beginReading(ownSnapshots: Bool) throws {
      // Without a snapshot every get reads the newest state: a snapshot of its own.
      if !ownSnapshots {
        snapshot = leveldb_create_snapshot(database)
        leveldb_readoptions_set_snapshot(readOptions, snapshot)
      }
    }

    func get(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws -> UnsafeRawBufferPointer? {
      free()
      var error: UnsafeMutablePointer<CChar>?
      var byteCount = 0
      copied = leveldb_get(database, readOptions, characters(key), keyByteCount, &byteCount, &error)
      try check(error)
      return copied.map { UnsafeRawBufferPointer(start: $0, count: byteCount) }
    }

    @inline(__always)
    private func free() {
      if let copied { leveldb_free(copied) }
      copied = nil
    }

    func endReading() throws {
      free()
      leveldb_readoptions_set_snapshot(readOptions, nil)
      if let snapshot { leveldb_release_snapshot(database, snapshot) }
      snapshot = nil
    }

    func openCursor() throws { iterator = leveldb_create_iterator(database, readOptions) }

    func first() throws -> CursorPlace? {
      leveldb_iter_seek_to_first(iterator)
      return try place()
    }

    func seek(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws -> CursorPlace? {
      leveldb_iter_seek(iterator, characters(key), keyByteCount)
      return try place()
    }

    func next() throws -> CursorPlace? {
      leveldb_iter_next(iterator)
      return try place()
    }

    @inline(__always)
    private func place() throws -> CursorPlace? {
      guard leveldb_iter_valid(iterator) != 0 else {
        var error: UnsafeMutablePointer<CChar>?
        leveldb_iter_get_error(iterator, &error)
        try check(error)
        return nil
      }
      var keyByteCount = 0
      var valueByteCount = 0
      _ = leveldb_iter_key(iterator, &keyByteCount)
      let bytes = leveldb_iter_value(iterator, &valueByteCount)
      return CursorPlace(
        keyByteCount: keyByteCount, value: UnsafeRawBufferPointer(start: bytes, count: valueByteCount))
    }

    func closeCursor() throws {
      leveldb_iter_destroy(iterator)
      iterator = nil
    }

    func end() {
      free()
      leveldb_writebatch_destroy(batch)
      leveldb_readoptions_destroy(readOptions)
    }
  }
}

@inline(__always)
private func characters(_ bytes: UnsafeMutableRawPointer) -> UnsafePointer<CChar> {
  UnsafePointer(bytes.assumingMemoryBound(to: CChar.self))
}
