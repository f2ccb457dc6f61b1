/// Gives out keys, each once.
///
/// Of a name that is taken the numbers go on where they stopped, so that a hundred thousand equal names take as many steps
/// and not the square of it: whoever wrote the input chose the names.
struct KeyChoice {
  private var used: Set<String>
  /// The number to try next, by what stands before it.
  private var nextNumbers: [String: Int] = [:]
  /// How many keys were looked at: the work, for tests and the fuzzer.
  private(set) var attemptCount = 0

  init(taken: [String]) { used = Set(taken) }

  /// The key of each column, in order: valid names keep themselves, whatever comes before them.
  mutating func keys(for columns: [String]) -> [String] {
    var keys = [String?](repeating: nil, count: columns.count)
    for (index, column) in columns.enumerated() where take(column) { keys[index] = column }
    for index in columns.indices where keys[index] == nil { keys[index] = key(from: KeyMapping.sanitized(columns[index])) }
    return keys.compactMap { $0 }
  }

  private mutating func take(_ key: String) -> Bool {
    attemptCount += 1
    // Valid keys are ASCII; only those are hashed.
    guard KeyMapping.isValid(key) else { return false }
    return used.insert(key).inserted
  }

  private mutating func key(from base: String) -> String {
    if take(base) { return base }
    var digitCount = 1
    var limit = 10
    while true {
      // The number grows at the cost of what stands before it.
      let stem = String(base.prefix(KeyMapping.maximumByteCount - 1 - digitCount))
      var number = nextNumbers[stem] ?? 2
      while number < limit {
        let key = "\(stem)_\(number)"
        number += 1
        if take(key) {
          nextNumbers[stem] = number
          return key
        }
      }
      nextNumbers[stem] = number
      digitCount += 1
      limit *= 10
    }
  }
}
