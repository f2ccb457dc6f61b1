/// The old bytes of some sectors, in one array.
struct SavedSectors {
  private var places: [Int: Int] = [:]
  private var bytes: [UInt8] = []
  private var sectorByteCount = 0

  var count: Int { places.count }
  var sectors: [Int] { places.keys.sorted() }

  func contains(_ sector: Int) -> Bool { places[sector] != nil }

  mutating func insert(_ sector: Int, _ old: UnsafeRawBufferPointer) {
    places[sector] = bytes.count
    unsafe bytes.append(contentsOf: old)
    sectorByteCount = old.count
  }

  /// The place in the array stays taken until everything is removed; a run between two syncs is short.
  mutating func remove(_ sector: Int) {
    places[sector] = nil
  }

  mutating func removeAll(where isDone: (Int) -> Bool) {
    guard !places.isEmpty else { return }
    places = places.filter { !isDone($0.key) }
    if places.isEmpty { bytes.removeAll(keepingCapacity: true) }
  }

  mutating func flip(_ sector: Int, at offset: Int, mask: UInt8) {
    if let place = places[sector] { bytes[place + offset] ^= mask }
  }

  /// False when no bytes of that sector were saved.
  func copy(_ sector: Int, to target: UnsafeMutableRawPointer) -> Bool {
    guard let place = places[sector] else { return false }
    unsafe bytes.withUnsafeBytes { saved in
      // Safe: `insert` put a whole sector there, and the caller has room for one.
      unsafe target.copyMemory(from: saved.baseAddress.unsafelyUnwrapped + place, byteCount: sectorByteCount)
    }
    return true
  }
}
