/// Guesses what was meant by a word that is not known.
package enum Spelling {
  /// So many candidates are compared at most: a database may have millions of keys.
  static let mostCandidates = 10_000
  /// Longer words are not guessed at: to compare them takes the square of their length.
  private static let longestByteCount = 64

  /// The closest of the words, if it is close enough to be a slip.
  package static func nearest(to word: String, among words: [String]) -> String? { close(to: word, among: words).first }

  /// The words that are close enough to be what a slip was to be, the closest first, three at most.
  package static func close(to word: String, among words: [String]) -> [String] {
    let bytes = Array(word.utf8)
    if bytes.count > longestByteCount { return [] }
    // One letter of two is half a name: for `d` every name of one letter would be meant.
    let largest = bytes.count < 3 ? 0 : bytes.count / 3
    var found: [(word: String, distance: Int)] = []
    for candidate in words.prefix(mostCandidates) where abs(candidate.utf8.count - bytes.count) <= largest {
      let distance = distance(bytes, Array(candidate.utf8))
      if distance <= largest { found.append((candidate, distance)) }
    }
    // Of equal ones the first stays first.
    let order = found.indices.sorted { (found[$0].distance, $0) < (found[$1].distance, $1) }
    return order.prefix(3).map { found[$0].word }
  }

  /// " Did you mean year or years?"; empty where nothing is close.
  package static func question(for word: String, among words: [String]) -> String {
    question(naming: close(to: word, among: words))
  }

  /// The same of words that were found already.
  static func question(naming words: [String]) -> String {
    var seen: Set<String> = []
    let close = words.map(ShownText.escaped).filter { seen.insert($0).inserted }
    guard let last = close.last else { return "" }
    return " Did you mean \(close.count == 1 ? last : close.dropLast().joined(separator: ", ") + " or " + last)?"
  }

  /// Edits of one byte that lead from one word to the other; a swap of neighbours counts one, a letter in the other case none.
  private static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
    var before: [Int] = []
    var above = Array(0...second.count)
    for i in 0..<first.count {
      var row = [i + 1]
      for j in 0..<second.count {
        var best = min(above[j] + (isSame(first[i], second[j]) ? 0 : 1), above[j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, isSame(first[i], second[j - 1]), isSame(first[i - 1], second[j]) {
          best = min(best, before[j - 1] + 1)
        }
        row.append(best)
      }
      before = above
      above = row
    }
    return above[second.count]
  }

  private static func isSame(_ first: UInt8, _ second: UInt8) -> Bool {
    if first == second { return true }
    let small = first | 0x20
    return small == second | 0x20 && small >= UInt8(ascii: "a") && small <= UInt8(ascii: "z")
  }
}
