import Daybook
import DaybookTesting
import Foundation
import Testing

/// A small application: accounts between which money moves. Whatever happens, no money is made or lost, and there are as many
/// transfers as the accounts were told of.
struct Accounts {
  static let path = "/bank/accounts.daybook"
  static let names = (0..<4).map { "account-\($0)" }
  static let total = 4_000

  let database: Database

  init(on disk: SimulatedDisk, options: Database.Options = .init()) throws {
    database = try Database.open(at: Accounts.path, on: disk, options: options)
  }

  /// The first transaction of all.
  func open() throws {
    try database.write { transaction in
      for name in Accounts.names {
        var account = try Record(type: "Account", id: Record.ID(name))
        account["balance"] = Accounts.total / Accounts.names.count
        try transaction.save(account)
      }
    }
  }

  /// Moves money from one account to the next, and writes that down: three records in one transaction.
  func transfer(_ number: Int) throws {
    let names = Accounts.names
    try database.write { transaction in
      for (name, change) in [(names[number % names.count], -number), (names[(number + 1) % names.count], number)] {
        guard var account = try transaction.record(Record.ID(name)) else { continue }
        account["balance"] = (account["balance"] ?? 0) + change
        try transaction.save(account)
      }
      var transfer = try Record(type: "Transfer", id: Record.ID(Accounts.transferName(number)))
      transfer["amount"] = number
      try transaction.save(transfer)
    }
  }

  private static func transferName(_ number: Int) -> String { "transfer-" + String(String(1000 + number).dropFirst()) }

  /// Walks the whole file, and looks whether what is there is the state behind some transfer.
  /// - Returns: how many transfers there are; -1 before the accounts were opened.
  func count(sourceLocation: SourceLocation = #_sourceLocation) throws -> Int {
    let report = try database.check(.deep)
    #expect(report.isClean, "\(report.findings)", sourceLocation: sourceLocation)
    // By name: a list of a type is in the order of the last saves.
    let accounts = try database.records(in: .default, ofType: "Account").sorted { $0.id < $1.id }
    let transfers = try database.records(in: .default, ofType: "Transfer")
    if accounts.isEmpty {
      #expect(transfers.isEmpty, "transfers before there are accounts", sourceLocation: sourceLocation)
      return -1
    }
    var balances = [Int](repeating: Accounts.total / Accounts.names.count, count: Accounts.names.count)
    for number in 1..<transfers.count + 1 {
      balances[number % balances.count] -= number
      balances[(number + 1) % balances.count] += number
    }
    #expect(accounts.map { $0["balance"] ?? Int.min } == balances, sourceLocation: sourceLocation)
    #expect(
      transfers.map(\.id.name) == (1..<transfers.count + 1).map(Accounts.transferName), sourceLocation: sourceLocation)
    return transfers.count
  }

  /// What a disk holds.
  static func count(on disk: SimulatedDisk, sourceLocation: SourceLocation = #_sourceLocation) throws -> Int {
    try Accounts(on: disk).count(sourceLocation: sourceLocation)
  }
}

/// The error of a call; nil when it threw none. Another kind of error is a failure.
func failure<R>(sourceLocation: SourceLocation = #_sourceLocation, of body: () throws -> R) -> DatabaseError? {
  do {
    _ = try body()
    return nil
  } catch let error as DatabaseError {
    return error
  } catch {
    Issue.record("not a DatabaseError: \(error)", sourceLocation: sourceLocation)
    return nil
  }
}

extension SimulatedDisk {
  /// Disks as they may look after a power loss now: both ends, and some between.
  func afterPowerLosses(seeds: Range<UInt64>) -> [SimulatedDisk] {
    [afterPowerLoss(keeping: .nothing), afterPowerLoss(keeping: .everything)] + seeds.map { afterPowerLoss(seed: $0) }
  }
}
