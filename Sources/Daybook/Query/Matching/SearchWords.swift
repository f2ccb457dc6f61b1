import DaybookEngine

/// The words of a text, as searches see them: runs of letters, digits and marks, in small letters and without accents. An
/// apostrophe between two of them belongs to the word.
///
/// Always true: what words are follows from ``FoldingTable`` and the list below alone.
struct SearchWords {
  /// Words that most texts have, which are not looked for.
  static let ignored: Set<String> = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of", "on",
    "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
  ]

  /// The same, each as a number of its letters.
  private static let ignoredNumbers = Set(ignored.map { $0.utf8.reduce(0 as UInt64) { $0 << 8 | UInt64($1) } })

  /// Whether a word, in small letters and without accents, is one that is not looked for.
  static func isIgnored(_ word: ByteView) -> Bool {
    // None is longer than "their".
    guard word.count <= 5 else { return false }
    var number: UInt64 = 0
    for index in 0..<word.count { number = number << 8 | UInt64(word[index]) }
    return ignoredNumbers.contains(number)
  }

  private static let apostrophe: UInt32 = 0x27
  private static let ranges: (firsts: [UInt32], lasts: [UInt32]) = {
    var firsts: [UInt32] = []
    var lasts: [UInt32] = []
    for word in HexWords(FoldingTable.words) {
      firsts.append(word.numbers[0])
      lasts.append(word.numbers[0] + word.numbers[1] - 1)
    }
    return (firsts, lasts)
  }()

  /// Whether words are made of such scalars.
  static func isPart(_ scalar: UInt32) -> Bool {
    if scalar < 0x80 {
      return scalar | 0x20 >= 0x61 && scalar | 0x20 <= 0x7A || scalar >= 0x30 && scalar <= 0x39
    }
    let (firsts, lasts) = ranges
    var low = 0
    var high = lasts.count
    while low < high {
      let middle = (low + high) / 2
      if lasts[middle] < scalar { low = middle + 1 } else { high = middle }
    }
    return low < firsts.count && firsts[low] <= scalar
  }

  private let bytes: ByteView
  private var offset = 0
  private var isWithin = false
  private var queue = Folding.Queue()

  init(_ bytes: ByteView) { self.bytes = bytes }

  /// The next scalar of a word, or 0 for what is between words; nil at the end.
  mutating func next() -> UInt32? {
    while queue.isEmpty {
      guard let scalar = UTF8Scalars.next(in: bytes, at: &offset) else { return nil }
      if Self.isPart(scalar) {
        isWithin = true
        if scalar < 0x80 { return scalar >= 0x41 && scalar <= 0x5A ? scalar + 32 : scalar }
        Folding.append(scalar, [.ignoringCase, .ignoringAccents], to: &queue)
        continue
      }
      if isWithin, scalar == Self.apostrophe || scalar == 0x2019 {
        var ahead = offset
        if let following = UTF8Scalars.next(in: bytes, at: &ahead), Self.isPart(following) { return Self.apostrophe }
      }
      isWithin = false
      return 0
    }
    return queue.removeFirst()
  }

  /// Whether a text has a word, given as its scalars.
  static func has(_ word: ArraySlice<UInt32>, in bytes: ByteView) -> Bool {
    var words = SearchWords(bytes)
    // How much of the word was seen; −1 in a word that is another.
    var position = 0
    while let scalar = words.next() {
      if scalar == 0 {
        if position == word.count { return true }
        position = 0
      } else if position >= 0 {
        position = position < word.count && word[word.startIndex + position] == scalar ? position + 1 : -1
      }
    }
    return position == word.count
  }

  /// The words of a text, as scalars.
  static func all(of bytes: ByteView) -> Set<[UInt32]> {
    var result: Set<[UInt32]> = []
    var words = SearchWords(bytes)
    var word: [UInt32] = []
    while let scalar = words.next() {
      if scalar != 0 {
        word.append(scalar)
      } else if !word.isEmpty {
        result.insert(word)
        word = []
      }
    }
    if !word.isEmpty { result.insert(word) }
    return result
  }

  /// The words of a text that are looked for, each once, in their order. Two are one by their scalars, as in `has`: by letters they
  /// would be one in either order of their marks, and comparing them would take the square of the marks' number.
  static func words(of text: String) -> [String] {
    var result: [String] = []
    var seen = Set<ByteText>()
    var word = String.UnicodeScalarView()
    func end() {
      let text = String(word)
      word = String.UnicodeScalarView()
      let isIgnored = UTF8Order.withView(of: text) { SearchWords.isIgnored($0) }
      if !text.isEmpty, !isIgnored, seen.insert(ByteText(text)).inserted { result.append(text) }
    }
    UTF8Order.withView(of: text) { bytes in
      var words = SearchWords(bytes)
      while let scalar = words.next() {
        if let scalar = Unicode.Scalar(scalar), scalar.value != 0 { word.append(scalar) } else { end() }
      }
    }
    end()
    return result
  }
}
