// Databases, their options and statistics, and snapshots in a few lines each, for logs and debuggers.

extension Database.Statistics: CustomStringConvertible {
  /// The numbers, a line each.
  public var description: String {
    """
    commits: \(lastSequence)
    records: \(recordCount) in \(zoneCount) \(zoneCount == 1 ? "zone" : "zones")
    assets: \(assetCount), \(assetByteCount) bytes
    file: \(fileByteCount) bytes, of which \(liveByteCount) are live and \(logByteCount) are log
    pages: \(pageCount)
    last recovery: \(lastRecovery)
    """
  }
}

extension Database.Recovery: CustomStringConvertible {
  /// What the last open found and did, in a line.
  public var description: String {
    var parts = [wasClosed ? "closed properly" : "not closed", "from \(basis.rawValue)"]
    if replayedCommitCount > 0 { parts.append("\(replayedCommitCount) commits of \(replayedByteCount) bytes replayed") }
    if discardedByteCount > 0 {
      parts.append("\(discardedByteCount) bytes of unacknowledged commits were discarded")
    }
    if let lostSequences { parts.append("commits \(lostSequences.lowerBound) to \(lostSequences.upperBound) are lost") }
    if missingByteCount > 0 { parts.append("\(missingByteCount) bytes are missing at the end") }
    return parts.joined(separator: ", ")
  }
}

extension Database: CustomStringConvertible, CustomReflectable {
  /// The path of the file. Reads nothing.
  public var description: String { "database \(ShownText.escaped(path))" }

  /// The path and the options.
  public var customMirror: Mirror { Mirror(self, children: ["path": path, "options": options]) }
}

extension Database.Options: CustomReflectable {
  /// What is set, but for the cipher, which has the key.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "durability": durability, "isReadOnly": isReadOnly, "createsDirectory": createsDirectory,
        "access": access, "pageCacheByteCount": pageCacheByteCount,
        "lock": lock, "lockTimeout": lockTimeout, "checkpoint": checkpoint, "compaction": compaction, "padding": padding,
        "snapshotMemory": snapshotMemory, "limits": limits, "dialect": dialect, "schema": schema,
        "inlineAssetByteCount": inlineAssetByteCount, "assetGrace": assetGrace, "userID": userID as Any,
        "deviceID": deviceID as Any, "cipher": cipher == nil ? "none" : "hidden",
        "acceptsUnsealedValues": acceptsUnsealedValues,
      ],
      displayStyle: .struct)
  }
}

extension Snapshot {
  /// Which commit it shows, of which database.
  public var description: String { "snapshot of \(database) at \(sequence)" }
}
