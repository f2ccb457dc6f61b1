/// The loops of the rows about keys and values, once for all peers. Daybook's own are in its module and do the same.
final class PeerKeys<P: Peer>: KeyValueEngine, @unchecked Sendable {
  private let peer: P

  init(_ peer: P) { self.peer = peer }

  func close() throws { try peer.close() }
  func compact() throws { try peer.compact() }
  func fillLog() throws { try peer.fillLog() }

  // MARK: writing

  func put(_ numbers: Range<UInt64>, round: UInt64, isAscending: Bool, perTransaction: Int) throws {
    let workload = Workload()
    defer { workload.free() }
    let session = try peer.session(.alone)
    defer { session.end() }
    var next = numbers.lowerBound
    while next < numbers.upperBound {
      let end = min(next + UInt64(perTransaction), numbers.upperBound)
      try session.begin(isAscending: isAscending)
      for number in next..<end {
        let byteCount = isAscending ? workload.makeAscendingKey(number) : workload.makeKey(number)
        workload.makeValue(number, round: round)
        try session.put(workload.key, byteCount, workload.value, Workload.valueByteCount)
      }
      try session.commit()
      next = end
    }
  }

  func commit(_ numbers: Range<UInt64>, threadCount: Int) throws {
    try onThreads(threadCount, over: numbers) { [self] part in
      let workload = Workload()
      defer { workload.free() }
      let session = try peer.session(threadCount == 1 ? .alone : .oneOfSeveralWriters)
      defer { session.end() }
      for number in part {
        let byteCount = workload.makeKey(number)
        workload.makeValue(number, round: 0)
        try session.putAlone(workload.key, byteCount, workload.value, Workload.valueByteCount)
      }
    }
  }

  func update(_ count: Int, among keyCount: UInt64, round: UInt64, perTransaction: Int) throws {
    let workload = Workload()
    defer { workload.free() }
    let session = try peer.session(.alone)
    defer { session.end() }
    var done = 0
    while done < count {
      let end = min(done + perTransaction, count)
      try session.begin(isAscending: false)
      for step in done..<end {
        let number = Workload.pick(step, among: keyCount, round: round)
        let byteCount = workload.makeKey(number)
        workload.makeValue(number, round: round)
        try session.put(workload.key, byteCount, workload.value, Workload.valueByteCount)
      }
      try session.commit()
      done = end
    }
  }

  func deleteEverySecond(of keyCount: UInt64, perTransaction: Int) throws {
    let workload = Workload()
    defer { workload.free() }
    let session = try peer.session(.alone)
    defer { session.end() }
    var next: UInt64 = 0
    while next < keyCount {
      try session.begin(isAscending: false)
      for _ in 0..<perTransaction where next < keyCount {
        try session.delete(workload.key, workload.makeKey(next))
        next += 2
      }
      try session.commit()
    }
  }

  // MARK: reading

  func get(
    _ count: Int, among keyCount: UInt64, round: UInt64, ownSnapshots: Bool, isOneOfSeveral: Bool
  ) throws -> UInt64 {
    let workload = Workload()
    defer { workload.free() }
    let session = try peer.session(isOneOfSeveral ? .oneOfSeveralReaders : .alone)
    defer { session.end() }
    try session.beginReading(ownSnapshots: ownSnapshots)
    var sum: UInt64 = 0
    for step in 0..<count {
      let byteCount = workload.makeKey(Workload.pick(step, among: keyCount, round: round))
      guard let value = try session.get(workload.key, byteCount), let bytes = value.baseAddress else {
        throw BenchmarkFault("a peer does not find a key")
      }
      sum &+= Workload.sum(bytes, value.count)
    }
    try session.endReading()
    return sum
  }

  func miss(_ count: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    let workload = Workload()
    defer { workload.free() }
    let session = try peer.session(.alone)
    defer { session.end() }
    try session.beginReading(ownSnapshots: true)
    var found: UInt64 = 0
    for step in 0..<count {
      let number = Workload.pick(step, among: keyCount, round: round) + Workload.firstMissingNumber
      if try session.get(workload.key, workload.makeKey(number)) != nil { found += 1 }
    }
    try session.endReading()
    return found
  }

  func seek(_ count: Int, length: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    let workload = Workload()
    defer { workload.free() }
    let session = try peer.session(.alone)
    defer { session.end() }
    try session.openCursor()
    var sum: UInt64 = 0
    for step in 0..<count {
      let byteCount = workload.makeKey(Workload.pick(step, among: keyCount, round: round))
      var place = try session.seek(workload.key, byteCount)
      var left = length
      while let here = place, let bytes = here.value.baseAddress {
        sum &+= Workload.sum(bytes, here.value.count) &+ UInt64(here.keyByteCount)
        left -= 1
        if left == 0 { break }
        place = try session.next()
      }
    }
    try session.closeCursor()
    return sum
  }

  func scan() throws -> UInt64 {
    let session = try peer.session(.alone)
    defer { session.end() }
    try session.openCursor()
    var sum: UInt64 = 0
    var place = try session.first()
    while let here = place, let bytes = here.value.baseAddress {
      sum &+= Workload.sum(bytes, here.value.count) &+ UInt64(here.keyByteCount)
      place = try session.next()
    }
    try session.closeCursor()
    return sum
  }

  func mix(_ count: Int, among keyCount: UInt64, round: UInt64) throws -> UInt64 {
    let workload = Workload()
    defer { workload.free() }
    let session = try peer.session(.alone)
    defer { session.end() }
    try session.beginReading(ownSnapshots: true)
    var sum: UInt64 = 0
    for step in 0..<count {
      let number = Workload.pick(step, among: keyCount, round: round)
      let byteCount = workload.makeKey(number)
      if step % 20 == 19 {
        workload.makeValue(number, round: round)
        try session.putAlone(workload.key, byteCount, workload.value, Workload.valueByteCount)
      } else {
        guard let value = try session.get(workload.key, byteCount), let bytes = value.baseAddress else {
          throw BenchmarkFault("a peer does not find a key")
        }
        sum &+= Workload.sum(bytes, value.count)
      }
    }
    try session.endReading()
    return sum
  }
}
