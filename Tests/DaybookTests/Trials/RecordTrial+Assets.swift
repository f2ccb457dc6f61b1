import DaybookTesting
import Foundation

@testable import Daybook
@testable import DaybookEngine

/// The content of an asset, and its name.
struct ModelContent {
  let data: Data
  let sha256: String

  var asset: Asset { Asset(data: data) }

  /// From nothing to more than any record keeps for itself.
  static let some: [ModelContent] = [0, 1, 60, 300, 300, 2000, 5000, 9000].enumerated().map { index, count in
    let data = Data(repeating: UInt8(index), count: count)
    return ModelContent(data: data, sha256: name(of: data))
  }

  private static let names = Locked<[Data: String]>([:])

  private static func name(of data: Data) -> String {
    if let known = names.withLock({ $0[data] }) { return known }
    let buffer = ByteBuffer(capacity: max(1, data.count))
    buffer.append([UInt8](data))
    let name = AssetDigest(SHA256.digest(of: buffer.view)).name
    names.withLock { $0[data] = name }
    return name
  }

  static func name(of asset: Asset) -> String { asset.sha256 ?? asset.data.map { name(of: $0) } ?? "nothing" }

  /// A value with the names of asset files in the place of assets: one that was not saved yet does not know its own.
  static func named(_ value: Record.Value) -> Record.Value {
    switch value {
    case .asset(let asset): .string("asset \(name(of: asset))")
    case .assets(let list): .strings(["assets"] + list.map { name(of: $0) })
    default: value
    }
  }

  static func assets(in values: [String: Record.Value]) -> [Asset] {
    values.values.flatMap { value -> [Asset] in
      switch value {
      case .asset(let asset): [asset]
      case .assets(let list): list
      default: []
      }
    }
  }

  static func names(in values: [String: Record.Value]) -> [String] { assets(in: values).map { name(of: $0) } }
}

/// Contents of assets: which are there, how often each is named, and which a collection may take.
extension RecordTrial {
  /// A saved version knows where its asset files are; and they are there.
  func take(assetsOf saved: Record, into version: inout ModelVersion, _ next: inout ModelDatabase) throws {
    for (key, value) in version.values {
      switch value {
      case .asset, .assets:
        let stored = saved[key] as Record.Value?
        try require(
          stored.map(ModelContent.named) == ModelContent.named(value),
          "\(saved.id) saved \(key) as \(String(describing: stored))")
        version.values[key] = stored
      default: break
      }
    }
    next.collected.subtract(ModelContent.names(in: version.values))
  }

  /// Whether a save may be refused because a content of an older version is not there any more.
  func mayMissContents(
    _ error: DatabaseError, _ expected: Result<ModelVersion, ModelFault>, _ next: ModelDatabase
  ) -> Bool {
    guard error.code == .assetNotAvailable, case .success(let version) = expected else { return false }
    note(.missingContent)
    return !next.collected.isDisjoint(with: ModelContent.names(in: version.values))
  }

  func compareContents(_ record: Record) throws {
    for asset in ModelContent.assets(in: record.values) {
      let content = try asset.content()
      try require(
        contents.contains { $0.data == content && $0.sha256 == asset.sha256 }, "the content of \(asset) in \(record.id)")
    }
  }

  /// How often each content that lies in a file is named by a live record.
  private var namedContents: [String: Int] {
    var counts: [String: Int] = [:]
    for zone in model.zones.values where zone.deletion == nil {
      for row in zone.rows.values {
        for asset in ModelContent.assets(in: row.live?.values ?? [:]) where asset.data == nil {
          counts[ModelContent.name(of: asset), default: 0] += 1
        }
      }
    }
    return counts
  }

  /// What no record refers to is removed; what one refers to is there, as often as the database says.
  func collect() throws {
    if syncMayHaveFailed { return try lose(crashes: chance(1, in: 2), mayGoBack: true) }
    stepCount += 1
    try compareStoredAssets()
    let report = try database.collectAssets(grace: .zero)
    if report.removedCount > 0 { note(.collection) }
    raiseFloor()
    let named = namedContents
    model.collected.formUnion(contents.map(\.sha256).filter { named[$0] == nil })
    keepState()
    raiseFloor()
    try compareStoredAssets()
    try compareAll()
  }

  private func compareStoredAssets() throws {
    let expected = namedContents
    var found: [String: Int] = [:]
    for asset in try database.storedAssets() where asset.referenceCount > 0 {
      try require(asset.state == .stored, "the content \(asset) is not there")
      found[asset.sha256] = asset.referenceCount
    }
    try require(found == expected, "contents \(found), expected \(expected)")
  }
}
