import DaybookTesting

@testable import DaybookEngine

/// What a trial asks of a tree and of its model.
extension TreeTrial {
  func look(_ bench: TreeWorkbench, _ tree: Int, _ generator: inout SeededGenerator) throws {
    let model = bench.models[tree]
    let root = bench.roots[tree]
    let reader = bench.editor.reader
    let key = anyKey(model, &generator)
    let found = try key.withView { try reader.value($0, in: root)?.array }
    try promise(found == model.value(key), "a lookup differs")
    let rank = try key.withView { try reader.rank(of: $0, in: root) }
    try promise(rank == UInt64(model.index(of: key)), "a rank is \(rank), not \(model.index(of: key))")
    let lower = Bool.random(using: &generator) ? anyKey(model, &generator) : nil
    let upper = Bool.random(using: &generator) ? anyKey(model, &generator) : nil
    let count = try withViews(lower, upper) { try reader.count(from: $0, to: $1, in: root) }
    try promise(count == UInt64(model.range(lower, upper).count), "a range counts \(count) records")
  }

  func walk(_ bench: TreeWorkbench, _ tree: Int, _ generator: inout SeededGenerator) throws {
    let model = bench.models[tree]
    var cursor = bench.editor.reader.cursor(in: bench.roots[tree])
    let key = anyKey(model, &generator)
    var index: Int
    let isValid: Bool
    switch Int.random(in: 0..<6, using: &generator) {
    case 0:
      isValid = try cursor.first()
      index = 0
    case 1:
      isValid = try cursor.last()
      index = model.count - 1
    case 2, 3:
      isValid = try key.withView { try cursor.seek(before: $0) }
      index = model.index(of: key) - 1
    default:
      isValid = try key.withView { try cursor.seek($0) }
      index = model.index(of: key)
    }
    try expect(&cursor, isValid, at: index, of: model)
    if !isValid { return }
    var isForward = Bool.random(using: &generator)
    for _ in 0..<Int.random(in: 0...60, using: &generator) {
      if Int.random(in: 0..<10, using: &generator) == 0 { isForward.toggle() }
      let isValid = isForward ? try cursor.next() : try cursor.previous()
      index += isForward ? 1 : -1
      try expect(&cursor, isValid, at: index, of: model)
      if !isValid { return }
    }
  }

  /// Keys are gathered in pieces, and between the pieces the cursor moves on.
  func gather(_ bench: TreeWorkbench, _ tree: Int, _ generator: inout SeededGenerator) throws {
    let model = bench.models[tree]
    var cursor = bench.editor.reader.cursor(in: bench.roots[tree])
    let (from, upper) = (anyKey(model, &generator), anyKey(model, &generator))
    var index = 0
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: break
    case 1:
      index = model.index(of: from)
      let isValid = try from.withView { try cursor.seek($0) }
      try expect(&cursor, isValid, at: index, of: model)
    default:
      try from.withView { try cursor.start(at: $0) }
      index = model.index(of: from)
    }
    let end = max(index, model.index(of: upper))
    let dropCount = [0, 0, 1, 5, 40].randomElement(using: &generator)!
    let keys = KeyList()
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      let (first, limit) = (keys.count, Int.random(in: 0...300, using: &generator))
      let areAll = try upper.withView { try cursor.gather(below: $0, limit: limit, dropping: dropCount, into: keys) }
      let last = min(end, index + limit)
      try promise(keys.count - first == last - index, "\(keys.count - first) keys were gathered, not \(last - index)")
      for (number, key) in model.keys[index..<last].enumerated() {
        try promise(keys[first + number].array == Array(key.dropFirst(dropCount)), "a gathered key differs")
      }
      index = last
      // Where the limit was just reached, it may not know yet.
      try promise(areAll ? last == end : last == index, "gathering says that it has all")
      if areAll || !cursor.isValid { return }
      try expect(&cursor, true, at: index, of: model)
      // Keys after the place of the cursor only.
      if Bool.random(using: &generator) {
        let key = anyKey(model, &generator)
        guard model.index(of: key) >= index else { continue }
        index = model.index(of: key)
        let isValid = try key.withView { try cursor.seek(onTo: $0) }
        try expect(&cursor, isValid, at: index, of: model)
        if !cursor.isValid || index > end { return }
      }
    }
  }

  /// Several keys are looked up at once, some of a list or all of it, group by group.
  func lookInGroups(_ bench: TreeWorkbench, _ tree: Int, _ generator: inout SeededGenerator) throws {
    let model = bench.models[tree]
    let (reader, root) = (bench.editor.reader, bench.roots[tree])
    let keys = KeyList()
    for _ in 0..<Int.random(in: 1...40, using: &generator) { anyKey(model, &generator).withView { keys.append($0) } }
    let places = Bool.random(using: &generator) ? nil : Array((0..<keys.count).shuffled(using: &generator).dropFirst())
    let count = places?.count ?? keys.count
    var group = LookupGroup()
    var first = 0
    while first < count {
      let last = min(count, first + Int.random(in: 1...LookupGroup.largestCount, using: &generator))
      try group.find(keys, places, first..<last, in: root, reader)
      for index in first..<last {
        let key = keys[places?[index] ?? index]
        let found = try group.value(index - first, key, reader)?.array
        try promise(found == model.value(key.array), "a lookup in a group differs")
      }
      first = last
    }
  }

  private func expect(_ cursor: inout Cursor, _ isValid: Bool, at index: Int, of model: SortedModel) throws {
    try promise(isValid == cursor.isValid, "a cursor says two things about itself")
    try promise(isValid == model.keys.indices.contains(index), "a cursor is \(isValid ? "" : "not ")on a record")
    guard isValid else { return }
    let key = ByteBuffer()
    cursor.key(into: key)
    try promise(key.view.array == model.keys[index], "a cursor stands on the wrong key")
    try promise(cursor.value.array == model.values[index], "a cursor stands on the wrong value")
    try promise(model.keys[index].withView { cursor.compareKey(with: $0) } == 0, "a key differs from itself")
    if index > 0 {
      try promise(model.keys[index - 1].withView { cursor.compareKey(with: $0) } > 0, "a key is not above the one before")
    }
    if index + 1 < model.count {
      try promise(model.keys[index + 1].withView { cursor.compareKey(with: $0) } < 0, "a key is not below the next")
    }
  }
}
