/// What has to be known of a file before its log can be read.
///
///     first page ── damaged ──► a checkpoint's copy of it ── none ──► what the frames say
///
/// The salt is in each frame. A file that has no checkpoint yet, as that of most small applications, can be read by that.
extension SalvageReader {
  struct Basis {
    var salt: UInt64
    /// A compacted file, of a generation after the first, begins with an image.
    var generation: UInt64
    var leastByteCount: UInt64

    init(_ header: FileHeader) {
      (salt, generation, leastByteCount) = (header.salt, header.generation, header.leastByteCount)
    }

    private init(salt: UInt64, generation: UInt64) {
      (self.salt, self.generation, leastByteCount) = (salt, generation, 0)
    }

    /// Nil where nothing looks like the log of a database.
    static func ofLog(in window: LogWindow) -> Basis? {
      if let copy = headerOfCheckpoint(in: window) { return Basis(copy) }
      return saltOfFrames(in: window).map { Basis(salt: $0.salt, generation: $0.hasImage ? 2 : 1) }
    }

    /// The first copy of the header whose checkpoint frame is valid with its salt.
    private static func headerOfCheckpoint(in window: LogWindow) -> FileHeader? {
      let byteCount = FrameHeader.byteCount + FileHeader.meaningfulByteCount
      var offset = FileHeader.byteCount
      var search = LogHoles.Search(window.holes, from: offset)
      while offset + byteCount <= window.byteCount {
        defer { offset = search.end(ofHoleFrom: offset + 8, limit: window.byteCount) & ~7 }
        guard let bytes = window.view(offset..<offset + byteCount) else { return nil }
        guard bytes.uint32(at: 0) == FrameHeader.magic, bytes[4] == FrameHeader.Kind.checkpoint.rawValue,
          let found = try? FileHeader(meaningful: bytes.dropFirst(FrameHeader.byteCount))
        else { continue }
        let log = LogReader(window, salt: found.salt)
        guard let header = log.header(at: UInt64(offset)), CheckpointContents.mayStand(after: header) else { continue }
        if log.isPayloadValid(header) { return found }
      }
      return nil
    }

    /// The salt that most frames have, and whether one of them is an image. A value that looks like a frame is passed over with the
    /// frame that it is in.
    private static func saltOfFrames(in window: LogWindow) -> (salt: UInt64, hasImage: Bool)? {
      var counts: [UInt64: (frames: Int, images: Int)] = [:]
      var offset = FileHeader.byteCount
      var search = LogHoles.Search(window.holes, from: offset)
      while offset + FrameHeader.byteCount <= window.byteCount {
        guard let bytes = window.view(offset..<offset + FrameHeader.byteCount) else { return nil }
        let salt = bytes.uint64(at: FrameHeader.saltOffset)
        guard bytes.uint32(at: 0) == FrameHeader.magic,
          let header = LogReader(window, salt: salt).header(at: UInt64(offset))
        else {
          offset = search.end(ofHoleFrom: offset + 8, limit: window.byteCount) & ~7
          continue
        }
        // What a forged file claims takes no memory to speak of.
        if counts[salt] != nil || counts.count < 64 {
          counts[salt, default: (0, 0)].frames += 1
          if header.isImage { counts[salt]?.images += 1 }
        }
        offset = Int(clamping: LogReader(window, salt: salt).offset(after: header))
      }
      return counts.max { $0.value.frames < $1.value.frames }.map { ($0.key, $0.value.images > 0) }
    }
  }
}
