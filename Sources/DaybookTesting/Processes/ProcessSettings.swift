import Daybook
import DaybookEngine

/// Which processes there are, how each opens the database, and how they and the disk behave.
package struct ProcessSettings: Sendable {
  /// The role of a process.
  package enum Role: String, Sendable {
    case soleWriter = "a writer that keeps the lock"
    case sharer = "a writer that shares the file"
    case follower = "a reader"
  }

  package struct Member: Sendable, CustomStringConvertible {
    package var role: Role
    package var isBuffered = false
    package var durability = Database.Options.Durability.full
    package var partByteCount = 8 << 20
    package var minimumLogByteCount = 1 << 20
    package var closeCheckpointByteCount = 32 << 10
    package var reserveByteCount = 0

    package var description: String {
      var text = "\(role.rawValue), \(isBuffered ? "buffered" : "mapped")"
      if role == .follower { return text }
      text += ", \(durability.rawValue), parts of \(partByteCount), checkpoint from \(minimumLogByteCount)"
      text += ", at close from \(closeCheckpointByteCount)"
      if reserveByteCount > 0 { text += ", a reserve of \(reserveByteCount)" }
      return text
    }
  }

  /// A deliberate mistake, to show that it is noticed.
  package enum Mistake: Sendable { case ignoresSyncs, ignoresLocks }

  package var seed: UInt64
  package var members: [Member]
  /// The process of each actor.
  package var homes: [Int]
  /// Whether some actors are threads of one process.
  package var hasThreads: Bool { Set(homes).count < homes.count }
  package var sectorByteCount = 512
  package var cutsTransfers = false
  /// Whether the disk copies on write.
  package var copiesOnWrite = false
  /// The power fails before this call, counted over all actors, and all start again.
  package var powerLoss: Int?
  /// What is wrong with the disk as the first process has it.
  package var mistake: Mistake?

  package init(seed: UInt64, members: [Member]) {
    self.seed = seed
    self.members = members
    homes = Array(members.indices)
  }

  static func random(seed: UInt64, _ generator: inout SeededGenerator) -> ProcessSettings {
    func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
    func member(_ role: Role) -> Member { .random(role, &generator) }
    let count = oneIn(8) ? 1 : oneIn(3) ? 3 : 2
    var roles: [Role] = [oneIn(3) ? .soleWriter : .sharer]
    while roles.count < count {
      roles.append(
        [.sharer, .sharer, .sharer, .follower, .follower, .soleWriter].randomElement(using: &generator) ?? .sharer)
    }
    var settings = ProcessSettings(seed: seed, members: roles.map(member))
    settings.sectorByteCount = oneIn(5) ? 4096 : 512
    settings.cutsTransfers = oneIn(8)
    settings.powerLoss = oneIn(4) ? Int.random(in: 1..<800, using: &generator) : nil
    // Not drawn: what the seeds of findings draw stays the same.
    settings.copiesOnWrite = seed % 5 == 3
    return settings
  }

  /// The random numbers and dates of each open are others.
  func options(_ member: Member, open: UInt64) -> Database.Options {
    var options = Database.Options.simulated(seed: seed &* 131 &+ open)
    options.isReadOnly = member.role == .follower
    options.lock = member.role == .sharer ? .perTransaction : .whileOpen
    options.access = member.isBuffered ? .buffered : .mapped
    options.pageCacheByteCount = 64 << 10
    options.freeAtOnce()
    // Simulated: some hundred calls of others.
    options.lockTimeout = .milliseconds(10)
    options.proofTimeout = .milliseconds(10)
    options.durability = member.durability
    options.partByteCount = member.partByteCount
    options.checkpoint.minimumLogByteCount = member.minimumLogByteCount
    options.checkpoint.maximumLogByteCount = max(64 << 10, member.minimumLogByteCount)
    options.closeCheckpointByteCount = member.closeCheckpointByteCount
    options.reserveByteCount = member.reserveByteCount
    options.inlineAssetByteCount = 0
    options.prefersIndexes = true
    return options
  }
}

extension ProcessSettings.Member {
  static func random(_ role: ProcessSettings.Role, _ generator: inout SeededGenerator) -> Self {
    func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
    var member = Self(role: role)
    member.isBuffered = oneIn(3)
    member.durability = oneIn(4) ? .relaxed : oneIn(5) ? .barrier : .full
    member.partByteCount = oneIn(2) ? 1 << 10 : 8 << 20
    member.minimumLogByteCount = [4 << 10, 16 << 10, 1 << 20].randomElement(using: &generator) ?? 0
    member.closeCheckpointByteCount = [0, 2 << 10, 1 << 20].randomElement(using: &generator) ?? 0
    member.reserveByteCount = oneIn(3) ? 600 : 0
    return member
  }
}
