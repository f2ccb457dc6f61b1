/// Texts that are looked for within others, however they repeat themselves: the time is that of reading the text, whatever
/// is looked for.
///
/// A part of plain scalars is found as Knuth, Morris and Pratt do it (SIAM J. Comput. 6, 1977): where the text goes on
/// otherwise, so much of it is kept as is a beginning of the part again.
///
///     part           a  b  a  c  a  b  a  d
///     fallback       0  0  1  0  1  2  3  0     after "abacaba" and no d, "aba" was seen
///
/// A part with a `?` has no such table. It is found as Baeza-Yates and Gonnet do it (CACM 35, 1992): a bit for each beginning
/// of the part that the text ends with, 64 in a word, all moved on at once.
///
///     part           a  ?  b
///     masks          a: 1 0 0      b: 0 0 1      any: 0 1 0
///
/// Of a scalar's mask only the words are kept that are not zero, so all masks together have no more words than the part has
/// scalars, however many of them differ. So a `?` costs two words at most for each 64 scalars of its part, where a part without
/// one costs the same whatever its length.
///
/// Nothing is made for a text. Belongs to the thread that made it.
struct TextParts {
  /// One of these parts, or a scalar of a part that may be any. No text has a scalar of this number.
  private static let any = UInt32.max

  private struct Part {
    let scalars: Range<Int>
    /// Where the mask of its `?` is, in `wildcards`. Empty without one.
    let wildcards: Range<Int>
    /// The scalars that it has, ascending.
    let keys: Range<Int>
    var wordCount: Int { wildcards.count }
  }

  /// A word of a mask that is not zero.
  private struct MaskWord {
    let index: Int
    var bits: UInt64
  }

  private var parts: [Part] = []
  private var scalars: [UInt32] = []
  /// Of each beginning of a part, how many scalars of it are also a shorter beginning.
  private var fallbacks: [Int32] = []
  private var keys: [UInt32] = []
  /// Of each key, where its words begin; they end where the next one's begin.
  private var firstWords: [Int] = []
  private var words: [MaskWord] = []
  private var wildcards: [UInt64] = []
  /// Made for a part with a `?` alone.
  private var seen: Seen?

  /// The beginnings that a text ends with, while it is read.
  private final class Seen { var words: [UInt64] = [] }

  var count: Int { parts.count }

  /// Appends a part of plain scalars.
  mutating func append(_ part: [UInt32]) {
    let start = scalars.count
    scalars += part
    fallbacks += Self.fallbacks(of: part)
    guard part.contains(Self.any) else {
      parts.append(Part(scalars: start..<scalars.count, wildcards: 0..<0, keys: 0..<0))
      return
    }
    let wordCount = (part.count + 63) / 64
    let firstWildcard = wildcards.count
    wildcards += [UInt64](repeating: 0, count: wordCount)
    let firstKey = keys.count
    // The places of a scalar one after the other, and so those of a word.
    for index in part.indices.sorted(by: { (part[$0], $0) < (part[$1], $1) }) {
      let (scalar, word, bit) = (part[index], index / 64, UInt64(1) << (index % 64))
      if scalar == Self.any {
        wildcards[firstWildcard + word] |= bit
      } else if keys.count > firstKey, keys[keys.count - 1] == scalar, words[words.count - 1].index == word {
        words[words.count - 1].bits |= bit
      } else {
        if keys.count == firstKey || keys[keys.count - 1] != scalar {
          keys.append(scalar)
          firstWords.append(words.count)
        }
        words.append(MaskWord(index: word, bits: bit))
      }
    }
    let seen = seen ?? Seen()
    self.seen = seen
    if seen.words.count < wordCount { seen.words = [UInt64](repeating: 0, count: wordCount) }
    parts.append(
      Part(
        scalars: start..<scalars.count, wildcards: firstWildcard..<wildcards.count, keys: firstKey..<keys.count))
  }

  /// Appends what a pattern has between its stars: one more than it has stars.
  mutating func append(_ pattern: LikePattern) {
    var part: [UInt32] = []
    for piece in pattern.pieces {
      switch piece {
      case .scalar(let scalar): part.append(scalar)
      case .one: part.append(Self.any)
      case .many:
        append(part)
        part = []
      }
    }
    append(part)
  }

  /// Reads a text until a part has been seen. Returns whether it was; the text goes on after it.
  func find(_ index: Int, in text: inout Folding) -> Bool {
    let part = parts[index]
    if part.scalars.isEmpty { return true }
    if !part.wildcards.isEmpty { return findByMasks(part, in: &text) }
    let start = part.scalars.lowerBound
    var count = 0
    while let scalar = text.next() {
      count = Self.seen(after: count, scalar, scalars, fallbacks, from: start)
      if count == part.scalars.count { return true }
    }
    return false
  }

  /// Whether a text goes on with a part; it then goes on after it.
  func isNext(_ index: Int, in text: inout Folding) -> Bool {
    for index in parts[index].scalars {
      guard let scalar = text.next(), scalar == scalars[index] || scalars[index] == Self.any else { return false }
    }
    return true
  }

  /// Whether the rest of a text ends with a part.
  func isEnd(_ index: Int, of text: Folding) -> Bool {
    var ahead = text
    var count = -parts[index].scalars.count
    while ahead.next() != nil { count += 1 }
    guard count >= 0 else { return false }
    var text = text
    for _ in 0..<count { _ = text.next() }
    return isNext(index, in: &text)
  }

  /// Whether all of a text is like the pattern that has these parts between its stars. What is between two of them may be where it is
  /// first found: that leaves the most for the rest.
  func isLike(_ range: Range<Int>, _ text: Folding) -> Bool {
    var text = text
    guard isNext(range.lowerBound, in: &text) else { return false }
    if range.count == 1 { return text.next() == nil }
    for part in range.dropFirst().dropLast() where !find(part, in: &text) { return false }
    return isEnd(range.upperBound - 1, of: text)
  }

  private func findByMasks(_ part: Part, in text: inout Folding) -> Bool {
    let wordCount = part.wordCount
    let last = UInt64(1) << ((part.scalars.count - 1) % 64)
    if wordCount == 1 {
      let wildcard = wildcards[part.wildcards.lowerBound]
      var bits: UInt64 = 0
      while let scalar = text.next() {
        let word = self.words(of: scalar, in: part)
        bits = (bits << 1 | 1) & (word.isEmpty ? wildcard : wildcard | words[word.lowerBound].bits)
        if bits & last != 0 { return true }
      }
      return false
    }
    guard let seen else { return false }
    for word in 0..<wordCount { seen.words[word] = 0 }
    while let scalar = text.next() {
      let own = self.words(of: scalar, in: part)
      var next = own.lowerBound
      var carry: UInt64 = 1
      for word in 0..<wordCount {
        let before = seen.words[word]
        var mask = wildcards[part.wildcards.lowerBound + word]
        if next < own.upperBound, words[next].index == word {
          mask |= words[next].bits
          next += 1
        }
        seen.words[word] = (before << 1 | carry) & mask
        carry = before >> 63
      }
      if seen.words[wordCount - 1] & last != 0 { return true }
    }
    return false
  }

  /// Where the mask of a scalar is; empty for one that the part does not have.
  private func words(of scalar: UInt32, in part: Part) -> Range<Int> {
    var low = part.keys.lowerBound
    var high = part.keys.upperBound
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] < scalar { low = middle + 1 } else { high = middle }
    }
    guard low < part.keys.upperBound, keys[low] == scalar else { return 0..<0 }
    return firstWords[low]..<(low + 1 < firstWords.count ? firstWords[low + 1] : words.count)
  }

  /// Words of all masks of scalars: no more than there are scalars.
  var maskWordCount: Int { words.count + wildcards.count }
}

extension TextParts {
  // Of any elements, so that a test can count how often they are compared.

  /// For each beginning of a part, the length of the longest shorter one that it ends with.
  static func fallbacks<Element: Equatable>(of part: [Element]) -> [Int32] {
    var result = [Int32](repeating: 0, count: part.count)
    var count = 0
    for index in part.indices.dropFirst() {
      count = seen(after: count, part[index], part, result, from: 0)
      result[index] = Int32(count)
    }
    return result
  }

  /// How much of a part has been seen after one more element. What was seen before is not all of it.
  @inline(__always)
  static func seen<Element: Equatable>(
    after count: Int, _ element: Element, _ elements: [Element], _ fallbacks: [Int32], from start: Int
  ) -> Int {
    var count = count
    while elements[start + count] != element {
      if count == 0 { return 0 }
      count = Int(fallbacks[start + count - 1])
    }
    return count + 1
  }
}
