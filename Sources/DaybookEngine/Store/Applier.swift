/// Turns operations into tree changes: the only code that does, for live commits and replay alike.
///
/// It reads the trees and the operation only: no clock, limit, policy or locale. The layer above implements it.
package protocol Applier: AnyObject, Sendable {
  /// Applies one operation of commit `sequence`; `ordinal` counts the operations of the commit from zero.
  func apply(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault)
  /// The same for an operation that is in the log already, at once or with others later, in whatever order comes to the
  /// same trees; the caller ends with `flush`. What must not be, throws here or there.
  func replay(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault)
  /// Puts what `apply` and `replay` have kept for themselves into the trees.
  func flush(_ changes: StoreTransaction) throws(LogFault)
  /// Puts a part of what `apply` has kept into the trees; true when there is more. Between parts pages may be written.
  func flushPart(_ changes: StoreTransaction) throws(LogFault) -> Bool
  /// Puts roots that `apply` keeps open into the trees and lets go of them: pages of this transaction are about to move
  /// into the file. What it has gathered besides, it keeps.
  func letGo(_ changes: StoreTransaction) throws(LogFault)
  /// Forgets what `apply` has kept for itself: the transaction went back.
  func reset()
}
