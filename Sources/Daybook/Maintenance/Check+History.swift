import DaybookEngine

/// The links from each version of a record to the one before it, followed by a deep check to their end.
extension ReadView {
  /// Where a chain of versions breaks: a place with something else, or with another record's version.
  /// - Parameters:
  ///   - place: of the newest version or tombstone, which has been checked.
  ///   - name: the record's name.
  func brokenLink(behind place: Place, of name: ByteView, zone zoneKey: [UInt8]) throws(DatabaseError) -> Place? {
    var place = place
    guard var previous = try link(at: place, of: name, zone: zoneKey) else { return place }
    while previous.byteCount > 0 {
      // Links lead towards the beginning of the log, so following them ends.
      guard previous.ends(before: place), let next = try link(at: previous, of: name, zone: zoneKey) else { return previous }
      place = previous
      previous = next
    }
    return nil
  }

  /// The link of one version; nil when there is no version of this record.
  private func link(at place: Place, of name: ByteView, zone zoneKey: [UInt8]) throws(DatabaseError) -> Place? {
    let operation: ByteView
    do { operation = try self.operation(at: place) } catch {
      // A disk that does not answer says nothing of what is in the file.
      if error.code == .ioFailed { throw error }
      return nil
    }
    var payload = Operation.payload(operation)
    let identity: BodyIdentity?
    let linkOffset: Int
    let buffer = ByteBuffer(capacity: 256)
    // The views below lie in it.
    defer { withExtendedLifetime(buffer) {} }
    if Operation.isOf(.saveRecord, operation) {
      guard let spelled = try? store.records.shapes.spelled(payload, in: buffer) else { return nil }
      payload = spelled
      (identity, linkOffset) = (.body(payload), RecordBody.previousOffset)
    } else if Operation.isOf(.deleteRecord, operation) {
      (identity, linkOffset) = (.tombstone(payload), Tombstone.previousOffset)
    } else {
      return nil
    }
    guard let identity, NameKey.matches(name, identity.name),
      zoneKey.withView({ UTF8Order.equal(identity.zoneKey, $0) })
    else { return nil }
    return Place(payload, at: linkOffset)
  }
}
