import Daybook
import DaybookEngine

/// How the database of a run is set up, and what fails besides the power.
package struct CrashSettings: Sendable, CustomStringConvertible {
  package var seed: UInt64
  package var durability = Database.Options.Durability.full
  package var padding = false
  package var sectorByteCount = 512
  package var partByteCount = 1200
  package var minimumLogByteCount = 1 << 20
  package var closeCheckpointByteCount = 32 << 10
  /// Zero where every subset of pending units is tried: most of them would be the reserve's zeros.
  package var reserveByteCount = 0
  package var cutsTransfers = false
  package var fault: SimulatedFault?
  /// The disk lies about its syncs: then the search must find something, or it tests nothing.
  package var ignoresSyncs = false
  /// What unwritten space may hold: a file from the same work under another salt.
  package var recycled: [UInt8] = []

  package init(seed: UInt64) { self.seed = seed }

  static func random(seed: UInt64, _ generator: inout SeededGenerator) -> CrashSettings {
    func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
    var settings = CrashSettings(seed: seed)
    settings.durability = oneIn(3) ? .relaxed : oneIn(4) ? .barrier : .full
    settings.padding = oneIn(6)
    settings.sectorByteCount = oneIn(4) ? 4096 : 512
    settings.partByteCount = oneIn(2) ? 1 << 10 : 8 << 20
    settings.minimumLogByteCount = [4 << 10, 16 << 10, 1 << 20].randomElement(using: &generator) ?? 0
    settings.closeCheckpointByteCount = [0, 2 << 10, 1 << 20].randomElement(using: &generator) ?? 0
    settings.cutsTransfers = oneIn(6)
    settings.reserveByteCount = oneIn(4) ? 600 : 0
    guard oneIn(3) else { return settings }
    var fault = SimulatedFault(call: Int.random(in: 4..<60, using: &generator))
    if oneIn(2) { fault.operations = [.sync, .syncDirectory] }
    if fault.operations.count < 3 { fault.call = 2 + fault.call / 3 }
    if oneIn(2) { fault.code = ErrorNumber.noSpace }
    fault.repeats = oneIn(3)
    fault.syncLoss = oneIn(2) ? .keepsPages : .dropsPages
    settings.fault = fault
    return settings
  }

  /// Each open gets other lineages and dates.
  func options(open: UInt64) -> Database.Options {
    var options = Database.Options.simulated(seed: seed &* 131 &+ open)
    options.lockTimeout = .zero
    options.durability = durability
    options.padding = padding
    options.partByteCount = partByteCount
    options.freeAtOnce()
    options.checkpoint.minimumLogByteCount = minimumLogByteCount
    options.checkpoint.maximumLogByteCount = max(64 << 10, minimumLogByteCount)
    options.closeCheckpointByteCount = closeCheckpointByteCount
    options.reserveByteCount = reserveByteCount
    options.inlineAssetByteCount = 0
    options.prefersIndexes = true
    return options
  }

  package var description: String {
    var text = "\(durability.rawValue), sectors of \(sectorByteCount), parts of \(partByteCount)"
    text += ", checkpoint from \(minimumLogByteCount), at close from \(closeCheckpointByteCount)"
    if padding { text += ", padded" }
    if reserveByteCount > 0 { text += ", a reserve of \(reserveByteCount)" }
    if cutsTransfers { text += ", short transfers" }
    if ignoresSyncs { text += ", a disk that lies about its syncs" }
    if let fault {
      text += ", call \(fault.call) of \(fault.operations.map(\.rawValue).sorted()) fails with \(fault.code)"
      text += fault.repeats ? " and all after it" : ""
      text += fault.syncLoss == .keepsPages ? ", the cache keeps what a sync lost" : ", the cache drops what a sync lost"
    }
    return text
  }
}
