/// Bytes of a fuzzer, taken one after another, with zeros behind the end, so that every input is valid.
struct FuzzInput {
  private var bytes: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

  var isAtEnd: Bool { bytes.isEmpty }

  mutating func byte() -> Int { Int(bytes.popFirst() ?? 0) }

  /// Two bytes as a number.
  mutating func number() -> Int { byte() | byte() << 8 }

  /// A number below `limit`, which is 256 at most.
  mutating func number(below limit: Int) -> Int { byte() % limit }

  mutating func pick<T>(_ list: [T]) -> T { list[byte() % list.count] }

  mutating func bytes(_ count: Int) -> [UInt8] {
    let taken = bytes.prefix(count)
    bytes = bytes.dropFirst(count)
    return Array(taken)
  }

  mutating func rest() -> [UInt8] { bytes(bytes.count) }
}
