/// What has to be known of a file before its log can be read.
///
///     first page ── damaged ──► the salt of most frames ──► a checkpoint's copy of the page ── none ──► what the frames say
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

    /// What the frames of one salt say.
    private struct Found {
      /// Where the first of them is.
      let offset: Int
      var count = 0
      var hasImage = false
      var copy: Result<FileHeader, FileHeader.Fault>?

      /// Of as many frames the first ones count: what is in a value comes after the frame around it.
      func isLess(than other: Found) -> Bool { (count, -offset) < (other.count, -other.offset) }
    }

    /// By the salt that most frames have; nil where nothing looks like the log of a database.
    ///
    /// A value that looks like a frame is passed over with the frame that it is in. Where a frame is damaged, what is in it may be taken for
    /// others: few, beside those of the file.
    static func ofLog(in window: LogWindow) throws(FileHeader.Fault) -> Basis? {
      var found: [UInt64: Found] = [:]
      var offset = FileHeader.byteCount
      var search = LogHoles.Search(window.holes, from: offset)
      /// How many bytes of payloads may be read here: a forged file may have frames in one another.
      var readable: UInt64 = 64 << 20
      while offset + FrameHeader.byteCount <= window.byteCount {
        guard let bytes = window.view(offset..<offset + FrameHeader.byteCount) else { return nil }
        let salt = bytes.uint64(at: FrameHeader.saltOffset)
        guard bytes.uint32(at: 0) == FrameHeader.magic,
          let header = LogReader(window, salt: salt).header(at: UInt64(offset))
        else {
          offset = search.end(ofHoleFrom: offset + 8, limit: window.byteCount) & ~7
          continue
        }
        let log = LogReader(window, salt: salt)
        if found[salt] == nil, found.count == 64 {
          // A forged file may claim any number: those that are rarest go, and the one of most frames stays.
          for (other, facts) in found {
            if facts.count == 1 { found[other] = nil } else { found[other]?.count -= 1 }
          }
        } else {
          found[salt, default: Found(offset: offset)].count += 1
          if header.isImage { found[salt]?.hasImage = true }
          if found[salt]?.copy == nil { found[salt]?.copy = copy(in: header, log, salt, window) }
        }
        // A forged length would hide frames: the next one has to follow, or the payload to be whole.
        var isWhole = header.end <= log.end && log.header(at: header.next) != nil
        if !isWhole, header.end <= log.end, header.payloadByteCount <= readable {
          readable -= header.payloadByteCount
          isWhole = log.isPayloadValid(header)
        }
        offset = isWhole ? Int(header.next) : offset + 8
      }
      guard let (salt, facts) = found.max(by: { $0.value.isLess(than: $1.value) }) else { return nil }
      if let copy = try facts.copy?.get() { return Basis(copy) }
      return Basis(salt: salt, generation: facts.hasImage ? 2 : 1)
    }

    /// The copy of the header in a checkpoint; nil in another frame, or a damaged one.
    private static func copy(
      in header: FrameHeader, _ log: LogReader, _ salt: UInt64, _ window: LogWindow
    ) -> Result<FileHeader, FileHeader.Fault>? {
      let start = Int(header.offset) + FrameHeader.byteCount
      guard header.kind == .checkpoint, CheckpointContents.mayStand(after: header),
        header.payloadByteCount >= UInt64(FileHeader.meaningfulByteCount), log.isPayloadValid(header),
        let bytes = window.view(start..<start + FileHeader.meaningfulByteCount)
      else { return nil }
      do throws(FileHeader.Fault) {
        let copy = try FileHeader(meaningful: bytes)
        return copy.salt == salt ? .success(copy) : nil
      } catch {
        if case .formatTooNew = error { return .failure(error) }
        return nil
      }
    }
  }
}
