import CRocksDB
import Foundation

/// RocksDB for random values that mostly fit into memory, by its own tuning guide.
///
///     bloom filter of 10 bits a key, whole keys      block cache 512 MB, indexes and filters outside of it: never evicted
///     hash index within data blocks                  write buffers 4 × 128 MB, files of 64 MB, no compression
///     log on, synced at each commit or not           as many background jobs as processors, at least two
///
/// Gets pin the block (`PinnableSlice`) instead of copying the value. `close` flushes the write buffer, so that the next open
/// has no log to replay. Compacting is a manual compaction of everything; rows that read use a file after one.
final class RocksPeer: Peer {
  private let database: OpaquePointer
  private let options, tableOptions, cache: OpaquePointer
  private let writeOptions: OpaquePointer

  init(_ path: String, isSynced: Bool) throws {
    options = rocksdb_options_create()
    rocksdb_options_set_create_if_missing(options, 1)
    let processorCount = Int32(max(2, ProcessInfo.processInfo.activeProcessorCount))
    rocksdb_options_increase_parallelism(options, processorCount)
    rocksdb_options_set_max_background_jobs(options, processorCount)
    rocksdb_options_set_write_buffer_size(options, 128 << 20)
    rocksdb_options_set_max_write_buffer_number(options, 4)
    rocksdb_options_set_target_file_size_base(options, 64 << 20)
    rocksdb_options_set_max_bytes_for_level_base(options, 512 << 20)
    rocksdb_options_set_bytes_per_sync(options, 1 << 20)
    rocksdb_options_set_max_open_files(options, -1)
    rocksdb_options_set_compression(options, Int32(rocksdb_no_compression))
    cache = rocksdb_cache_create_lru(512 << 20)
    tableOptions = rocksdb_block_based_options_create()
    rocksdb_block_based_options_set_block_cache(tableOptions, cache)
    rocksdb_block_based_options_set_filter_policy(tableOptions, rocksdb_filterpolicy_create_bloom_full(10))
    rocksdb_block_based_options_set_whole_key_filtering(tableOptions, 1)
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(tableOptions, 0)
    rocksdb_block_based_options_set_data_block_index_type(
      tableOptions, Int32(rocksdb_block_based_table_data_block_index_type_binary_search_and_hash))
    rocksdb_block_based_options_set_format_version(tableOptions, 5)
    rocksdb_options_set_block_based_table_factory(options, tableOptions)
    writeOptions = rocksdb_writeoptions_create()
    rocksdb_writeoptions_set_sync(writeOptions, isSynced ? 1 : 0)
    var error: UnsafeMutablePointer<CChar>?
    let opened = rocksdb_open(options, path, &error)
    try RocksPeer.check(error)
    guard let opened else { throw BenchmarkFault("RocksDB: cannot open \(path)") }
    database = opened
  }

  func session(_ use: SessionUse) throws -> Session { Session(database, writeOptions) }

  func compact() throws {
    try flush()
    rocksdb_compact_range(database, nil, 0, nil, 0)
  }

  private func flush() throws {
    let flushOptions = rocksdb_flushoptions_create()
    rocksdb_flushoptions_set_wait(flushOptions, 1)
    var error: UnsafeMutablePointer<CChar>?
    rocksdb_flush(database, flushOptions, &error)
    rocksdb_flushoptions_destroy(flushOptions)
    try RocksPeer.check(error)
  }

  func close() throws {
    try flush()
    rocksdb_close(database)
    rocksdb_writeoptions_destroy(writeOptions)
    rocksdb_options_destroy(options)
    rocksdb_block_based_options_destroy(tableOptions)
    rocksdb_cache_destroy(cache)
  }

  @inline(__always)
  static func check(_ error: UnsafeMutablePointer<CChar>?) throws {
    if let error {
      defer { rocksdb_free(error) }
      throw BenchmarkFault("RocksDB: \(String(cString: error))")
    }
  }

  final class Session: PeerSession {
    private let database, writeOptions: OpaquePointer
    private let batch: OpaquePointer
    private let readOptions: OpaquePointer
    private var snapshot, pinned, iterator: OpaquePointer?

    init(_ database: OpaquePointer, _ writeOptions: OpaquePointer) {
      self.database = database
      self.writeOptions = writeOptions
      batch = rocksdb_writebatch_create()
      readOptions = rocksdb_readoptions_create()
    }

    func begin(isAscending: Bool) throws { rocksdb_writebatch_clear(batch) }

    func put(
      _ key: UnsafeMutableRawPointer, _ keyByteCount: Int, _ value: UnsafeMutableRawPointer, _ valueByteCount: Int
    ) throws {
      rocksdb_writebatch_put(batch, characters(key), keyByteCount, characters(value), valueByteCount)
    }

    func delete(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws {
      rocksdb_writebatch_delete(batch, characters(key), keyByteCount)
    }

    func commit() throws {
      var error: UnsafeMutablePointer<CChar>?
      rocksdb_write(database, writeOptions, batch, &error)
      try check(error)
    }

    func putAlone(
      _ key: UnsafeMutableRawPointer, _ keyByteCount: Int, _ value: UnsafeMutableRawPointer, _ valueByteCount: Int
    ) throws {
      var error: UnsafeMutablePointer<CChar>?
      rocksdb_put(
        database, writeOptions, characters(key), keyByteCount, characters(value), valueByteCount, &error)
      try check(error)
    }

    func beginReading(ownSnapshots: Bool) throws {
      // Without a snapshot every get reads the newest state: a snapshot of its own.
      if !ownSnapshots {
        snapshot = rocksdb_create_snapshot(database)
        rocksdb_readoptions_set_snapshot(readOptions, snapshot)
      }
    }

    func get(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws -> UnsafeRawBufferPointer? {
      unpin()
      var error: UnsafeMutablePointer<CChar>?
      pinned = rocksdb_get_pinned(database, readOptions, characters(key), keyByteCount, &error)
      try check(error)
      guard let pinned else { return nil }
      var byteCount = 0
      let bytes = rocksdb_pinnableslice_value(pinned, &byteCount)
      return UnsafeRawBufferPointer(start: bytes, count: byteCount)
    }

    @inline(__always)
    private func unpin() {
      if let pinned { rocksdb_pinnableslice_destroy(pinned) }
      pinned = nil
    }

    func endReading() throws {
      unpin()
      rocksdb_readoptions_set_snapshot(readOptions, nil)
      if let snapshot { rocksdb_release_snapshot(database, snapshot) }
      snapshot = nil
    }

    func openCursor() throws { iterator = rocksdb_create_iterator(database, readOptions) }

    func first() throws -> CursorPlace? {
      rocksdb_iter_seek_to_first(iterator)
      return try place()
    }

    func seek(_ key: UnsafeMutableRawPointer, _ keyByteCount: Int) throws -> CursorPlace? {
      rocksdb_iter_seek(iterator, characters(key), keyByteCount)
      return try place()
    }

    func next() throws -> CursorPlace? {
      rocksdb_iter_next(iterator)
      return try place()
    }

    @inline(__always)
    private func place() throws -> CursorPlace? {
      guard rocksdb_iter_valid(iterator) != 0 else {
        var error: UnsafeMutablePointer<CChar>?
        rocksdb_iter_get_error(iterator, &error)
        try check(error)
        return nil
      }
      var keyByteCount = 0
      var valueByteCount = 0
      _ = rocksdb_iter_key(iterator, &keyByteCount)
      let bytes = rocksdb_iter_value(iterator, &valueByteCount)
      return CursorPlace(
        keyByteCount: keyByteCount, value: UnsafeRawBufferPointer(start: bytes, count: valueByteCount))
    }

    func closeCursor() throws {
      rocksdb_iter_destroy(iterator)
      iterator = nil
    }

    func end() {
      unpin()
      rocksdb_writebatch_destroy(batch)
      rocksdb_readoptions_destroy(readOptions)
    }
  }
}

@inline(__always)
private func characters(_ bytes: UnsafeMutableRawPointer) -> UnsafePointer<CChar> {
  UnsafePointer(bytes.assumingMemoryBound(to: CChar.self))
}
