#if TOY_INDEX
  import DaybookEngine

  /// A tree of a test (`Scripts/check.sh toyindex`), and of no other build: the records by the first letter of their first text.
  ///
  ///     key     first letter, in UTF-8, filled up with zeros to four bytes; record name
  ///     value   u64 sequence, u32 ordinal, f64 date at which the record was made
  ///
  /// The text is the first plain string in the order of keys that is not empty; a record without has no entry. The value has
  /// everything in it that an entry may follow from, so that whatever loses some of it on a way is found out.
  enum FirstLetterTree: ContributedTree {
    private static let letterByteCount = 4

    /// No flag says whether a body has a text, so each body may.
    static func mayContribute(flags: UInt8) -> Bool { true }

    static func contribute(_ version: RecordVersion, to entries: ContributionList) {
      guard let letter = letter(of: version.body) else { return }
      entries.bytes.append(letter)
      entries.bytes.append(zeros: letterByteCount - letter.count)
      entries.bytes.append(version.name)
      entries.bytes.append(uint64: version.sequence)
      entries.bytes.append(uint32: version.ordinal)
      entries.bytes.append(uint64: version.creation)
      entries.add(valueByteCount: 20)
    }

    static func recordName(in key: ByteView) -> ByteView? {
      key.count > letterByteCount ? key.dropFirst(letterByteCount) : nil
    }

    private static func letter(of body: ByteView) -> ByteView? {
      guard let layout = try? RecordBody.layout(of: body) else { return nil }
      var cursor = FieldCursor(body, layout)
      while let field = cursor.next() {
        guard field.mark.kind == .string, !field.mark.isEncrypted, field.value.count > 0 else { continue }
        // The first byte of a letter says how many there are; nobody vouches for them.
        let first = field.value[0]
        let wanted = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : letterByteCount
        return field.value.prefix(min(wanted, field.value.count))
      }
      return nil
    }
  }
#endif
