/// More loops of the benchmarks over raw keys and values: ascending keys, deletes, misses, seeks, mixed work.
extension BenchmarkLoops {
  /// Puts the keys of some numbers, new ones or new values for old ones.
  package func put(_ numbers: Range<UInt64>, round: UInt64, isAscending: Bool, perTransaction: Int) throws {
    let key = ByteBuffer(capacity: 64)
    let value = ByteBuffer(capacity: 256)
    var next = numbers.lowerBound
    while next < numbers.upperBound {
      let end = min(next + UInt64(perTransaction), numbers.upperBound)
      try store.write { transaction in
        for number in next..<end {
          workload.makeKey(number, into: key)
          if isAscending { key.set(uint64: number.byteSwapped, at: 0) }
          workload.makeValue(number, round: round, into: value)
          try transaction.put(key.view, value.view)
        }
      }
      next = end
    }
  }

  /// Deletes the keys of even numbers.
  package func delete(everySecondOf keyCount: UInt64, perTransaction: Int) throws {
    let key = ByteBuffer(capacity: 64)
    var next: UInt64 = 0
    while next < keyCount {
      try store.write { transaction in
        for _ in 0..<perTransaction where next < keyCount {
          workload.makeKey(next, into: key)
          try transaction.delete(key.view)
          next += 2
        }
      }
    }
  }

  /// Gets keys that do not exist, with numbers from `first` on; returns how many were found.
  package func miss(_ count: Int, among keyCount: UInt64, round: UInt64, from first: UInt64) throws -> UInt64 {
    let key = ByteBuffer(capacity: 64)
    let target = ByteBuffer(capacity: 256)
    var found: UInt64 = 0
    for step in 0..<count {
      workload.makeKey(workload.pick(step, among: keyCount, round: round) + first, into: key)
      if try store.get(key.view, into: target) != nil { found += 1 }
    }
    return found
  }

  /// Gets random keys, each from its own snapshot; every twentieth step puts a new value, in its own commit.
  package func mix(_ count: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    let key = ByteBuffer(capacity: 64)
    let value = ByteBuffer(capacity: 256)
    var sum: UInt64 = 0
    for step in 0..<count {
      let number = workload.pick(step, among: keyCount, round: round)
      workload.makeKey(number, into: key)
      if step % 20 == 19 {
        workload.makeValue(number, round: round, into: value)
        try store.write { transaction in try transaction.put(key.view, value.view) }
      } else {
        guard let found = try store.get(key.view, into: value) else { throw LoopFault.missing }
        sum &+= ends(of: found)
      }
    }
    return sum
  }

  /// Seeks random keys in one snapshot and reads `length` keys from each on; returns the sum of the values.
  package func seek(_ count: Int, length: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    let wanted = ByteBuffer(capacity: 64)
    let key = ByteBuffer(capacity: 64)
    let target = ByteBuffer(capacity: 512)
    let (current, pin) = try store.stores.beginRead()
    defer { current.endRead(pin) }
    let end = pin.end
    var cursor = pin.reader.cursor(in: pin.root(0))
    var sum: UInt64 = 0
    for step in 0..<count {
      workload.makeKey(workload.pick(step, among: keyCount, round: round), into: wanted)
      try cursor.start(at: wanted.view)
      var left = length
      while left > 0, try cursor.next() {
        cursor.touchAhead(isPacked: false)
        cursor.key(into: key)
        let place = Place(cursor.value, at: 0)
        try Store.checkPlace(place, end: end)
        target.truncate(to: 0)
        target.reserve(Int(place.byteCount))
        // Safe: the line above made room for the operation.
        unsafe try current.copyOperation(at: place, end: end, to: target.base)
        target.count = Int(place.byteCount)
        sum &+= ends(of: target.view) &+ UInt64(key.count)
        left -= 1
      }
    }
    return sum
  }

  /// The sum of the first and last eight bytes of a value that lies at the end of an operation.
  @inline(__always)
  private func ends(of bytes: ByteView) -> UInt64 {
    let value = bytes.dropFirst(max(0, bytes.count - BenchmarkWorkload.valueByteCount))
    return value.count < 8 ? 0 : value.uint64(at: 0) &+ value.uint64(at: value.count - 8)
  }
}

private enum LoopFault: Error { case missing }
