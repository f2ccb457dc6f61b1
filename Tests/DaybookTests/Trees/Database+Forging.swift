import DaybookEngine
import Foundation
import Testing

@testable import Daybook

// What the library never writes, under checksums that are right.

extension Database {
  /// Saves a record with these bytes as its body, which nothing looks at before they are in the log.
  func save(forgedBody bytes: [UInt8]) throws {
    try write { transaction in
      let context = transaction.context
      try context.start()
      let operation = context.changes.beginOperation()
      context.changes.payload.append(bytes)
      try context.endOperation(operation, .saveRecord)
    }
  }

  /// Changes the trees of a zone without an operation that says so.
  func forge(_ zone: Zone.ID, _ change: (inout ZoneTrees, StoreTransaction) throws -> Void) throws {
    try write { transaction in
      let context = transaction.context
      // A transaction that wrote nothing is not committed.
      try transaction.setMetadata(Data([1]), forKey: "forged")
      let applier = store.records
      try zone.withKeyView { (key) throws(LogFault) in try applier.open(key, context.changes) }
      var trees = try #require(applier.openZone)
      try change(&trees, context.changes)
      applier.setOpenZone(trees)
    }
  }
}
