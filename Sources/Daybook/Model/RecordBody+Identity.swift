import DaybookEngine

/// Whether a body is the one that was asked for.
///
/// Trees lead from names, types and sequences to places in the log, and the checksum of what lies there says nothing of who
/// asked. In a forged file an entry may lead to another record, or to one of another zone: it would be answered under the
/// wrong name, and its encrypted values be opened. So who follows an entry compares, in place and without allocating.
extension RecordBody {
  /// Whether it is of this zone and has this name.
  @inline(__always)
  func isOf(_ id: Record.ID) -> Bool {
    withBytes { bytes in UTF8Order.withView(of: id.name) { UTF8Order.equal($0, Self.nameBytes(of: bytes)) } }
      && isOf(id.zone, isDefault: id.zone.isDefault)
  }

  /// Whether it is of this zone. Whoever asks for many knows whether that is the default one.
  @inline(__always)
  func isOf(_ zone: Zone.ID, isDefault: @autoclosure () -> Bool) -> Bool {
    withBytes { bytes in
      // Most records are in the default zone, whose key takes no bytes.
      bytes.uint16(at: 2) == Self.defaultZoneMark ? isDefault() : zone.matches(key: Self.zoneKey(of: bytes))
    }
  }

  /// Whether it is another version of the same record.
  func isOfSameRecord(as other: RecordBody) -> Bool {
    withBytes { mine in
      other.withBytes { theirs in
        UTF8Order.equal(Self.nameBytes(of: mine), Self.nameBytes(of: theirs))
          && UTF8Order.equal(Self.zoneKey(of: mine), Self.zoneKey(of: theirs))
      }
    }
  }
}

extension BodyIdentity {
  /// Whether it has the name with this key and is of the zone with that one.
  @inline(__always)
  func isOf(key: ByteView, zone zoneKey: ByteView) -> Bool {
    NameKey.matches(key, name) && UTF8Order.equal(self.zoneKey, zoneKey)
  }
}
