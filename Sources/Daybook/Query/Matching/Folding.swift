import DaybookEngine

/// The scalars of a text with case and accents taken away, one after the other, without a copy.
///
/// What is the same to a search depends on ``FoldingTable`` alone.
struct Folding {
  /// One of the tables, read once.
  struct Map: Sendable {
    private enum Way: UInt8 { case next, same, nextOfEverySecond, sameOfEverySecond, many }
    private var firsts: [UInt32] = []
    private var lasts: [UInt32] = []
    private var ways: [UInt8] = []
    private var targets: [UInt32] = []
    /// Scalars of those that become several or none, each list ended by `.max`.
    private var lists: [UInt32] = []

    init(_ text: StaticString) {
      for word in HexWords(text) {
        let way: Way =
          switch word.letter {
          case UInt8(ascii: "n"): .next
          case UInt8(ascii: "s"): .same
          case UInt8(ascii: "e"): .nextOfEverySecond
          case UInt8(ascii: "t"): .sameOfEverySecond
          default: .many
          }
        let stride: UInt32 = way == .nextOfEverySecond || way == .sameOfEverySecond ? 2 : 1
        firsts.append(word.numbers[0])
        lasts.append(word.numbers[0] + (word.numbers[1] - 1) * stride)
        ways.append(way.rawValue)
        if way == .many {
          targets.append(UInt32(lists.count))
          lists += word.numbers[2...] + [.max]
        } else {
          targets.append(word.numbers[2])
        }
      }
    }

    /// Appends what a scalar becomes.
    func append(_ scalar: UInt32, to queue: inout Queue) {
      var low = 0
      var high = firsts.count
      while low < high {
        let middle = (low + high) / 2
        if lasts[middle] < scalar { low = middle + 1 } else { high = middle }
      }
      guard low < firsts.count, firsts[low] <= scalar else { return queue.append(scalar) }
      let distance = scalar - firsts[low]
      switch Way(rawValue: ways[low]) {
      case .next: queue.append(targets[low] + distance)
      case .same: queue.append(targets[low])
      case .nextOfEverySecond: queue.append(distance % 2 == 0 ? targets[low] + distance : scalar)
      case .sameOfEverySecond: queue.append(distance % 2 == 0 ? targets[low] : scalar)
      case .many, nil:
        var index = Int(targets[low])
        while lists[index] != .max {
          queue.append(lists[index])
          index += 1
        }
      }
    }
  }

  /// The few scalars that one becomes, in place: at most three of three.
  struct Queue {
    private var scalars = SIMD16<UInt32>()
    private(set) var count = 0
    private var next = 0

    var isEmpty: Bool { next == count }

    mutating func append(_ scalar: UInt32) {
      if next == count { (next, count) = (0, 0) }
      // No scalar becomes more than nine.
      guard count < 16 else { return }
      scalars[count] = scalar
      count += 1
    }

    mutating func removeFirst() -> UInt32 {
      defer { next += 1 }
      return scalars[next]
    }

    subscript(index: Int) -> UInt32 { scalars[index] }
  }

  static let cases = Map(FoldingTable.cases)
  static let bases = Map(FoldingTable.bases)

  private let bytes: ByteView
  private let options: Query.TextOptions
  private var offset = 0
  private var queue = Queue()

  init(_ bytes: ByteView, _ options: Query.TextOptions) {
    self.bytes = bytes
    self.options = options
  }

  /// The next scalar; nil at the end.
  mutating func next() -> UInt32? {
    while queue.isEmpty {
      guard let scalar = UTF8Scalars.next(in: bytes, at: &offset) else { return nil }
      if scalar < 0x80 {
        return options.contains(.ignoringCase) && scalar >= 0x41 && scalar <= 0x5A ? scalar + 32 : scalar
      }
      if options.isEmpty { return scalar }
      Folding.append(scalar, options, to: &queue)
    }
    return queue.removeFirst()
  }

  /// Appends what a scalar becomes: without accents, then in small letters, then without the accents of these.
  static func append(_ scalar: UInt32, _ options: Query.TextOptions, to queue: inout Queue) {
    guard options.contains(.ignoringAccents) else { return cases.append(scalar, to: &queue) }
    var plain = Queue()
    appendBase(of: scalar, to: &plain)
    guard options.contains(.ignoringCase) else {
      for index in 0..<plain.count { queue.append(plain[index]) }
      return
    }
    var small = Queue()
    for index in 0..<plain.count { cases.append(plain[index], to: &small) }
    for index in 0..<small.count { appendBase(of: small[index], to: &queue) }
  }

  private static func appendBase(of scalar: UInt32, to queue: inout Queue) {
    guard scalar >= 0xAC00, scalar < 0xD7A4 else { return bases.append(scalar, to: &queue) }
    // A syllable of Hangul is two or three letters (The Unicode Standard, 3.12).
    let index = scalar - 0xAC00
    queue.append(0x1100 + index / 588)
    queue.append(0x1161 + index % 588 / 28)
    if index % 28 > 0 { queue.append(0x11A7 + index % 28) }
  }

  /// All scalars of a text.
  static func scalars(_ text: String, _ options: Query.TextOptions) -> [UInt32] {
    UTF8Order.withView(of: text) { bytes in
      var result: [UInt32] = []
      var folding = Folding(bytes, options)
      while let scalar = folding.next() { result.append(scalar) }
      return result
    }
  }
}

/// Scalars of UTF-8, one after the other.
enum UTF8Scalars {
  /// The scalar at an offset, which moves on; nil at the end. Bytes that are no UTF-8 are each a replacement character.
  @inline(__always)
  static func next(in bytes: ByteView, at offset: inout Int) -> UInt32? {
    guard offset < bytes.count else { return nil }
    let first = UInt32(bytes[offset])
    offset &+= 1
    if first < 0x80 { return first }
    return long(first, in: bytes, at: &offset)
  }

  @inline(never)
  private static func long(_ first: UInt32, in bytes: ByteView, at offset: inout Int) -> UInt32 {
    let count = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1
    guard first >= 0xC2, first < 0xF5, count <= bytes.count &- offset else { return 0xFFFD }
    var scalar = first & (0x3F >> UInt32(count))
    for index in 0..<count {
      let byte = UInt32(bytes[offset &+ index])
      guard byte & 0xC0 == 0x80 else { return 0xFFFD }
      scalar = scalar << 6 | byte & 0x3F
    }
    offset &+= count
    return scalar
  }
}

/// The words of a table in ``FoldingTable``: numbers, and the letter in the third place, if there is one.
struct HexWords: Sequence, IteratorProtocol {
  struct Word {
    var numbers: [UInt32] = []
    var letter: UInt8 = 0
  }

  private let text: StaticString
  private var offset = 0

  init(_ text: StaticString) { self.text = text }

  mutating func next() -> Word? {
    // Safe: a literal's bytes live as long as the program.
    let bytes = unsafe ByteView(UnsafeRawPointer(text.utf8Start), count: text.utf8CodeUnitCount)
    while offset < bytes.count, bytes[offset] <= 0x20 { offset += 1 }
    guard offset < bytes.count else { return nil }
    var word = Word()
    var number: UInt32?
    while offset < bytes.count, bytes[offset] > 0x20 {
      let byte = bytes[offset]
      offset += 1
      if byte == UInt8(ascii: ".") {
        if let number { word.numbers.append(number) }
        number = nil
      } else if word.numbers.count == 2, word.letter == 0, number == nil, byte > UInt8(ascii: "9"), "nsetm".utf8.contains(byte)
      {
        word.letter = byte
      } else {
        number = (number ?? 0) << 4 | UInt32(byte <= 0x39 ? byte - 0x30 : byte - 0x61 + 10)
      }
    }
    if let number { word.numbers.append(number) }
    return word
  }
}
