import DaybookEngine

/// Engine errors at the public door: a stable code, a fixed sentence, the facts beside it, the cause kept.
extension DatabaseError {
  init(_ error: StoreError, path: String) {
    switch error {
    case .disk(let failure):
      self.init(failure)
    case .header(.tooShort(let byteCount)):
      self.init(
        .notADatabase,
        byteCount == 0
          ? "The file is empty; opening it for writing makes it a database." : "The file is too short to be a database.",
        facts: .init(path: path, size: byteCount, expected: "at least \(FileHeader.byteCount) bytes"), cause: error)
    case .header(.notADatabase):
      self.init(.notADatabase, facts: .init(path: path, offset: 0), cause: error)
    case .header(.formatTooNew(let version)):
      self.init(
        .formatTooNew,
        facts: .init(
          path: path, expected: "format version \(FileHeader.formatVersion) or older", found: "version \(version)"),
        cause: error)
    case .header:
      self.init(.corrupted, "The first page of the file is damaged.", facts: .init(path: path, offset: 0), cause: error)
    case .page(let fault):
      if let failure = fault.failure {
        self.init(failure)
        return
      }
      self.init(
        .corrupted, "A page of the file is damaged.",
        facts: .init(path: path, offset: fault.offset.map { Int(clamping: $0) }, found: fault.reason.rawValue), cause: error)
    case .log(.page(let fault)):
      self.init(.page(fault), path: path)
    case .log(.unknownTrees(let count)):
      self.init(
        .formatTooNew, facts: .init(path: path, expected: "at most \(ZoneTree.count) trees in a zone", found: "\(count) trees"),
        cause: error)
    case .log(.requires(let features)):
      self.init(
        .formatTooNew, facts: .init(path: path, found: "features 0x\(String(features, radix: 16)) of a later version"),
        cause: error)
    case .laterFeatures(let features):
      self.init(
        .formatTooNew, "The file was written by a newer version of Daybook. It can be read; the file is read-only.",
        facts: .init(path: path, found: "features 0x\(String(features, radix: 16)) of a later version"), cause: error)
    case .log(.unknownOperation(let kind)):
      self.init(.formatTooNew, facts: .init(path: path, found: "operations of kind \(kind)"), cause: error)
    case .log:
      self.init(.corrupted, "The log contains an invalid operation.", facts: .init(path: path), cause: error)
    case .operation(let offset):
      self.init(
        .corrupted, "A record in the log is damaged.", facts: .init(path: path, offset: Int(clamping: offset)),
        cause: error)
    case .corrupt(let lost):
      self.init(
        .corrupted,
        "Acknowledged commits are damaged. Commits before them can be read; the file is read-only.",
        facts: .init(
          path: path, sequence: lost.lowerBound, found: "damaged commits \(lost.lowerBound) to \(lost.upperBound)"),
        cause: error)
    case .cutShort(let offset, let leastByteCount, let missingByteCount):
      self.init(
        .corrupted,
        "The file was cut short: bytes are missing at its end. The intact part can be read; the file is read-only.",
        facts: .init(
          path: path, offset: Int(clamping: offset), expected: "at least \(leastByteCount) bytes",
          found: "\(missingByteCount) bytes are missing"),
        cause: error)
    case .locked:
      self.init(.locked, facts: .init(path: path), cause: error)
    case .alreadyOpen:
      self.init(.locked, "The database is open for writing in this process already.", facts: .init(path: path), cause: error)
    case .readOnly:
      self.init(.readOnly, facts: .init(path: path), cause: error)
    case .closed:
      self.init(.closed, facts: .init(path: path), cause: error)
    case .superseded:
      self.init(.closed, "Another file has taken the place of this one; open it again.", facts: .init(path: path), cause: error)
    case .outcomeUnknown(let failure):
      self.init(
        .outcomeUnknown, facts: .init(path: path, offset: failure.offset, found: "error \(failure.code)"),
        cause: failure)
    case .tooLarge(let byteCount, let limit):
      self.init(.limitExceeded, facts: .init(path: path, size: byteCount, limit: limit), cause: error)
    case .snapshotTooOld:
      self.init(.snapshotTooOld, facts: .init(path: path), cause: error)
    case .tooManySnapshots(let limit):
      self.init(.limitExceeded, "Too many snapshots are open.", facts: .init(path: path, limit: limit), cause: error)
    case .forked:
      self.init(
        .closed, "A database cannot be used in a child process after fork; open it there.", facts: .init(path: path),
        cause: error)
    case .suspended:
      self.init(.locked, "The database is suspended; resume it before writing.", facts: .init(path: path), cause: error)
    case .moved:
      self.init(.closed, "The file was replaced; open it again.", facts: .init(path: path), cause: error)
    case .hardLinked(_, let count):
      self.init(
        .badDatabase, "The file has several hard links; compacting would update only one of them.",
        facts: .init(path: path, found: "\(count) names"), cause: error)
    case .ownerWouldChange:
      self.init(
        .permissionFailure,
        "A compacted file would not belong to whom this one belongs to; its owner, or root, can compact it.",
        facts: .init(path: path), cause: error)
    case .replaced:
      self.init(.closed, "Another database has taken this one's name; open it again.", facts: .init(path: path), cause: error)
    case .numbersUsedUp(let sequence):
      self.init(
        .limitExceeded, "The file has reached the highest commit number; it is read-only.",
        facts: .init(path: path, sequence: sequence), cause: error)
    case .withinTransaction:
      self.init(
        .invalidArguments,
        "A transaction or a compaction cannot wait for its own end; call this after its closure has returned.",
        facts: .init(path: path), cause: error)
    case .refused(let reason):
      self.init(.operationCancelled, "The work was stopped.", facts: .init(path: path, found: reason), cause: error)
    }
  }

  package init(_ failure: DiskFailure) {
    // Where the sentence says it all, the system's number would say it again.
    let isPlain =
      switch failure.kind {
      case .notFound, .exists, .notRegular, .foreign, .notUTF8, .nameTooLong: true
      default: false
      }
    let facts = Facts(
      path: failure.path, offset: failure.offset, size: failure.byteCount,
      found: isPlain ? nil : "\(failure.operation.rawValue), error \(failure.code)")
    switch failure.kind {
    case .full: self.init(.diskFull, facts: facts, cause: failure)
    case .notFound: self.init(.ioFailed, "The file does not exist.", facts: facts, cause: failure)
    case .permission: self.init(.ioFailed, "The system refuses access to the file.", facts: facts, cause: failure)
    case .tooLarge: self.init(.diskFull, "The file may not grow further.", facts: facts, cause: failure)
    case .exists: self.init(.ioFailed, "Something has this name already.", facts: facts, cause: failure)
    case .closed: self.init(.closed, facts: facts, cause: failure)
    case .notRegular:
      self.init(
        .ioFailed, "The path is not a regular file (or not a folder, where one is needed).", facts: facts, cause: failure)
    case .foreign:
      self.init(.ioFailed, "The file belongs to another user and was not touched.", facts: facts, cause: failure)
    case .notUTF8:
      self.init(.ioFailed, "A component of the path is not valid UTF-8.", facts: facts, cause: failure)
    case .nameTooLong:
      self.init(
        .invalidArguments,
        "A name is too long. Volumes take 255 bytes, and files beside a database have its name with up to 18 bytes more.",
        facts: .init(
          path: failure.path, size: failure.byteCount, limit: failure.byteCount.map { _ in Store.longestNameByteCount }),
        cause: failure)
    case .nameLost:
      self.init(
        .badDatabase,
        "Another file has the name of this database by now, or none has. "
          + "Close this database, and open what has its name, or give it its name back first.",
        facts: .init(path: failure.path, found: failure.code == ErrorNumber.notFound ? "no file" : "another file"),
        cause: failure)
    case .other where failure.operation == .map && failure.code == ErrorNumber.noMemory:
      self.init(
        .ioFailed,
        "The process has no address space left. Open fewer databases at once, or raise its limit (RLIMIT_AS, `ulimit -v`).",
        facts: facts, cause: failure)
    case .other: self.init(.ioFailed, facts: facts, cause: failure)
    }
  }
}
