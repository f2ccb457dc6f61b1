import DaybookEngine
import Testing

@testable import DaybookTesting

// Fingerprints of images that are not made. The searches of crashes call two images one when these agree, so a wrong one
// means a crash that nobody looks at.

/// What the next open can see of a disk, in full.
private struct NaiveImage: Hashable {
  let files: [String: [UInt8]]
  let directories: Set<String>

  init(_ disk: SimulatedDisk) {
    var files: [String: [UInt8]] = [:]
    for path in disk.paths { files[path] = disk.bytes(of: path) }
    self.files = files
    directories = disk.state.withLock { $0.directories }
  }

  /// The fingerprint of a disk that has only ever seen these bytes: nothing on it is kept from before.
  func fingerprint(sectorByteCount: Int) throws -> UInt64 {
    let disk = SimulatedDisk(seed: 0, sectorByteCount: sectorByteCount)
    for directory in directories.sorted() { try disk.makeDirectory(directory) }
    for (path, bytes) in files { disk.install(bytes, at: path) }
    return disk.fingerprint
  }
}

/// Random work on a random disk, one step at a time.
private struct DiskTrial {
  var disk: SimulatedDisk
  let sectorByteCount: Int
  private var generator: SeededGenerator
  private var files: [String: any DiskFile] = [:]

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
    sectorByteCount = seed % 3 == 0 ? 4096 : 512
    disk = SimulatedDisk(seed: seed, sectorByteCount: sectorByteCount, maximumFileByteCount: 1 << 20)
    disk.recycle((0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 512 &+ 1) })
  }

  private mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

  private mutating func someFile() -> (path: String, file: any DiskFile)? {
    guard let path = files.keys.sorted().randomElement(using: &generator), let file = files[path] else { return nil }
    return (path, file)
  }

  mutating func step() throws {
    let names = ["a", "b", "d/a", "d/b", "e/f/a"]
    let path = names[number(0..<names.count)]
    switch number(0..<100) {
    case 0..<10:
      if try !disk.exists(path), disk.state.withLock({ $0.directories.contains(directory(holding: path)) || path.count == 1 }) {
        files[path] = try disk.open(path, .createNew)
      }
    case 10..<13: for made in ["d", "e", "e/f"] where try !disk.exists(made) { try disk.makeDirectory(made) }
    case 13..<60: try write()
    case 60..<66:
      if let (_, file) = someFile() {
        let byteCount = try file.byteCount()
        try file.truncate(to: number(0..<byteCount + 600))
      }
    case 66..<78: if let (_, file) = someFile() { try file.sync(.full) }
    case 78..<84: try disk.syncDirectory(holding: path)
    case 84..<87:
      if let (source, file) = someFile(), source != path, path.count == source.count {
        try disk.rename(source, to: path)
        files[source] = nil
        files[path] = file
      }
    case 87..<89:
      if let (source, _) = someFile() {
        try disk.remove(source)
        files[source] = nil
      }
    case 89..<91:
      if let (source, _) = someFile(), try !disk.exists(source + "2") { try disk.link(source, to: source + "2") }
    case 91..<94:
      disk.inject(SimulatedFault([.sync], call: 1, syncLoss: Bool.random(using: &generator) ? .keepsPages : .dropsPages))
      if let (_, file) = someFile() { try? file.sync(.full) }
      disk.removeFaults()
    case 94..<96:
      disk.inject(SimulatedLie(Bool.random(using: &generator) ? .loses : .misdirects(sectorCount: 1), write: 1))
      try write()
      disk.removeFaults()
    case 96..<98:
      if let (path, file) = someFile() {
        let byteCount = try file.byteCount()
        disk.corrupt(path, at: number(0..<byteCount + 1), mask: 4)
      }
    default:
      disk = disk.killed()
      for path in files.keys { files[path] = try disk.open(path, .readWrite) }
    }
  }

  private mutating func write() throws {
    guard let (_, file) = someFile() else { return }
    let byteCount = try file.byteCount()
    let buffer = ByteBuffer(capacity: 16_384)
    let count = [number(1..<40), number(1..<2000), 512, 4096, 8192][number(0..<5)]
    let byte = UInt8(number(1..<4))
    for _ in 0..<count { buffer.append(byte) }
    let offset = [byteCount, byteCount / 4096 * 4096, number(0..<byteCount + 1), byteCount + number(0..<3000)][number(0..<4)]
    if offset + count < 60_000 { try file.write(buffer.view, at: offset) }
  }

  mutating func choice(among pending: PendingChanges) -> CrashChoice {
    var choice = CrashChoice.random(pending, &generator)
    choice.isKill = number(0..<30) == 0
    // Few seeds, so that different choices leave the same now and then.
    choice.seed %= 4
    return choice
  }
}

@Suite("Fingerprints of crashes")
struct CrashMomentTests {
  @Test("the fingerprint of a choice is that of the image it makes, and of no other", arguments: 0..<16 as Range<UInt64>)
  func fingerprintOfChoice(seed: UInt64) throws {
    var trial = DiskTrial(seed: seed)
    var kinds: [String: Int] = [:]
    var known: [UInt64: NaiveImage] = [:]
    var images: Set<NaiveImage> = []
    for step in 0..<160 {
      try trial.step()
      guard step % 4 == 3 else { continue }
      let moment = CrashMoment(trial.disk)
      #expect(moment.pending == trial.disk.pendingChanges)
      for _ in 0..<6 {
        let choice = trial.choice(among: moment.pending)
        let fingerprint = moment.fingerprint(of: choice)
        let image = moment.image(of: choice)
        let naive = NaiveImage(image)
        let made = image.fingerprint
        let fresh = try naive.fingerprint(sectorByteCount: trial.sectorByteCount)
        guard fingerprint == made, made == fresh, NaiveImage(trial.disk.crashed(choice)) == naive else {
          return _ = Issue.record("seed \(seed) step \(step): \(choice)")
        }
        #expect(known[fingerprint] == nil || known[fingerprint] == naive, "seed \(seed) step \(step): two images, one number")
        known[fingerprint] = naive
        images.insert(naive)
        kinds[choice.isKill ? "kill" : "loss", default: 0] += 1
        kinds["\(choice.unwritten)", default: 0] += 1
        kinds[choice.torn == nil ? "whole" : "torn", default: 0] += 1
        kinds[choice.size == .new ? "new size" : choice.size == .old ? "old size" : "size between", default: 0] += 1
        if choice.names.count < moment.pending.nameCount { kinds["names missing", default: 0] += 1 }
        if choice.units.count < moment.pending.unitCount { kinds["units missing", default: 0] += 1 }
      }
    }
    #expect(known.count == images.count, "two numbers for one image")
    #expect(images.count > 40)
    let expected = [
      "loss", "zeros", "garbage", "recycled", "whole", "torn", "new size", "old size", "size between", "names missing",
      "units missing",
    ]
    for kind in expected { #expect(kinds[kind, default: 0] > 0, "\(kind), seed \(seed)") }
  }

  @Test("a moment asked for one choice after the other answers as one asked for each alone")
  func oneAfterTheOther() throws {
    var trial = DiskTrial(seed: 77)
    for _ in 0..<120 { try trial.step() }
    for _ in 0..<40 {
      try trial.step()
      let moment = CrashMoment(trial.disk)
      for _ in 0..<10 {
        let choice = trial.choice(among: moment.pending)
        #expect(moment.fingerprint(of: choice) == CrashMoment(trial.disk).fingerprint(of: choice))
      }
    }
  }

  @Test("a set of small numbers holds what a set holds")
  func numberSet() {
    var generator = SeededGenerator(seed: 5)
    var set: NumberSet = [3, 64, 200]
    var model: Set<Int> = [3, 64, 200]
    for step in 0..<1500 {
      let number = Int.random(in: 0..<(step % 2 == 0 ? 70 : 300), using: &generator)
      switch Int.random(in: 0..<12, using: &generator) {
      case 0..<6:
        set.insert(number)
        model.insert(number)
      case 6..<10:
        set.remove(number)
        model.remove(number)
      case 10:
        set.removeAll(from: number)
        model = model.filter { $0 < number }
      default:
        if step % 50 == 0 {
          set.removeAll()
          model = []
        }
      }
      #expect(set.members == model.sorted() && set.count == model.count && set.isEmpty == model.isEmpty)
      #expect(set.contains(number) == model.contains(number))
      #expect(set == NumberSet(model) && set.hashValue == NumberSet(model).hashValue)
    }
    #expect(NumberSet(bits: 0b1011) == [0, 1, 3])
  }
}
