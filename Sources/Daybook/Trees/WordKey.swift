import DaybookEngine

/// The entries of an index of words: a word as searches see it (`SearchWords`), without the words that are in every text.
///
///     u16 number of the index, 9, the first 64 bytes of the word in UTF-8, 0, key of the record's name
///
/// Always true: a record with a word that a search asks for has the entry of that word, or the one that says that it has more words
/// than count. What is found is tested with the whole predicate, so what words of many letters have in common costs time only.
enum WordKey {
  /// Of a word: so many bytes count.
  static let byteCount = 64
  /// Of one record's field: so many words have entries. Of a text that is longer the record has one entry more, and is looked at by
  /// every search.
  static let largestCount = 1 << 16

  /// Appends the next word of a text that is looked for. Returns whether there was one; else what was appended is none.
  static func appendNext(of words: inout SearchWords, to buffer: ByteBuffer) -> Bool {
    buffer.append(IndexKey.Rank.word)
    let start = buffer.count
    while true {
      let scalar = words.next()
      if let scalar, scalar != 0 {
        append(scalar, to: buffer, limit: start + byteCount)
        continue
      }
      if buffer.count > start, !SearchWords.isIgnored(buffer.view.dropFirst(start)) {
        buffer.append(0)
        return true
      }
      if scalar == nil { return false }
      buffer.truncate(to: start)
    }
  }

  /// Appends a word that is looked for.
  static func append(_ word: String, to buffer: ByteBuffer) {
    buffer.append(IndexKey.Rank.word)
    let limit = buffer.count + byteCount
    for scalar in word.unicodeScalars { append(scalar.value, to: buffer, limit: limit) }
    buffer.append(0)
  }

  /// Appends the bytes of a scalar in UTF-8, as far as there is room.
  private static func append(_ scalar: UInt32, to buffer: ByteBuffer, limit: Int) {
    func append(_ byte: UInt32) { if buffer.count < limit { buffer.append(UInt8(truncatingIfNeeded: byte)) } }
    if scalar < 0x80 { return append(scalar) }
    if scalar < 0x800 {
      append(0xC0 | scalar >> 6)
    } else {
      if scalar < 0x1_0000 {
        append(0xE0 | scalar >> 12)
      } else {
        append(0xF0 | scalar >> 18)
        append(0x80 | scalar >> 12 & 0x3F)
      }
      append(0x80 | scalar >> 6 & 0x3F)
    }
    append(0x80 | scalar & 0x3F)
  }
}
