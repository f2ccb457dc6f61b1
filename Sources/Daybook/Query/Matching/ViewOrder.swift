import DaybookEngine

/// ``ValueOrder`` once more, of values where they lie. A test compares their answers.
enum ViewOrder {
  /// Below zero when the first comes first, in the order of sorts.
  static func compare(_ first: ValueView, _ second: ValueView) -> Int {
    let ranks = (ValueOrder.rank(first.kind) ?? 7, ValueOrder.rank(second.kind) ?? 7)
    if ranks.0 != ranks.1 { return ranks.0 < ranks.1 ? -1 : 1 }
    switch ranks.0 {
    case 0: return compareNumbers(first, second)
    case 1: return ValueOrder.order(first.double, second.double)
    case 2, 3: return UTF8Order.compare(first.bytes, second.bytes).signum()
    case 4:
      guard let a = first.place, let b = second.place else { return 0 }
      return ValueOrder.order(a, b)
    case 5:
      let zones = UTF8Order.compare(first.zoneKey, second.zoneKey).signum()
      return zones != 0 ? zones : UTF8Order.compare(first.bytes, second.bytes).signum()
    case 6:
      var a = first.elements
      var b = second.elements
      while true {
        guard let x = a.next() else { return b.next() == nil ? 0 : -1 }
        guard let y = b.next() else { return 1 }
        let order = compare(x, y)
        if order != 0 { return order }
      }
    default: return 0
    }
  }

  private static func compareNumbers(_ first: ValueView, _ second: ValueView) -> Int {
    switch (first.kind == .int, second.kind == .int) {
    case (true, true): ValueOrder.order(first.int, second.int)
    case (true, false): ValueOrder.order(first.int, second.double)
    case (false, true): -ValueOrder.order(second.int, first.double)
    case (false, false): ValueOrder.order(first.double, second.double)
    }
  }

  /// Whether a field's value equals a constant, texts regardless of some things.
  static func equal(_ value: ValueView, _ constant: ValueView, _ options: Query.TextOptions) -> Bool {
    switch (value.kind, constant.kind) {
    case (.int, .int): return value.int == constant.int
    case (.int, .double), (.double, .int): return compareNumbers(value, constant) == 0
    // Not so for NaN.
    case (.double, .double), (.date, .date): return value.double == constant.double
    case (.string, .string):
      return options.isEmpty
        ? UTF8Order.equal(value.bytes, constant.bytes) : isSame(value.bytes, constant.bytes, options)
    case (.bytes, .bytes): return UTF8Order.equal(value.bytes, constant.bytes)
    // One place has one encoding.
    case (.location, .location):
      return UTF8Order.equal(value.bytes, constant.bytes) && !(constant.place.map(ValueOrder.isUnordered) ?? false)
    case (.reference, .reference):
      return UTF8Order.equal(value.bytes, constant.bytes) && UTF8Order.equal(value.zoneKey, constant.zoneKey)
    case (.ints, .ints), (.ints, .doubles), (.doubles, .ints), (.doubles, .doubles), (.strings, .strings), (.dates, .dates),
      (.bytesList, .bytesList), (.locations, .locations), (.references, .references):
      var a = value.elements
      var b = constant.elements
      if a.rest != b.rest { return false }
      while let x = a.next() {
        guard let y = b.next(), equal(x, y, options) else { return false }
      }
      return b.next() == nil
    default: return false
    }
  }

  private static func isSame(_ first: ByteView, _ second: ByteView, _ options: Query.TextOptions) -> Bool {
    var a = Folding(first, options)
    var b = Folding(second, options)
    while let x = a.next() {
      if b.next() != x { return false }
    }
    return b.next() == nil
  }
}
