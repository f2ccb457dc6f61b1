/// Turns operations into changes of trees, for live commits and for replay. No other code does that.
///
/// It depends only on the trees and the operation: not on a clock, limit, policy or locale. The layer above implements it.
package protocol Applier: AnyObject, Sendable {
  /// Applies one operation of commit `sequence`; `ordinal` counts the operations of the commit from zero.
  func apply(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault)
  /// The same for an operation that is in the log already. It may be applied at once or later with others, in any order that
  /// gives the same trees; the caller ends with `flush`. An invalid operation throws here or there.
  func replay(
    _ operation: ByteView, place: Place, sequence: UInt64, ordinal: UInt32, to changes: StoreTransaction
  ) throws(LogFault)
  /// Puts everything that `apply` and `replay` have kept back into the trees.
  func flush(_ changes: StoreTransaction) throws(LogFault)
  /// The last operation was replayed: puts in what has waited for the end besides, then everything as `flush` does.
  func finishReplay(_ changes: StoreTransaction) throws(LogFault)
  /// What it knows of the transaction's trees, after `flush`: the store keeps it with the version that they become.
  func facts(_ changes: StoreTransaction) -> (any RootFacts)?
  /// Puts a part of what `apply` has kept back into the trees; true when there is more. Between parts, pages may be written.
  func flushPart(_ changes: StoreTransaction) throws(LogFault) -> Bool
  /// Puts roots that `apply` keeps open into the trees and drops them, because pages of this transaction are about to move into
  /// the file. It keeps what else it has gathered.
  func letGo(_ changes: StoreTransaction) throws(LogFault)
  /// How many operations `forEachDeclaration` gives.
  func declarationCount(in roots: RootSet) -> Int
  /// Operations without which others cannot be understood: kind and payload. The store repeats them in the log, so that one damaged
  /// place does not matter. Called with the turn.
  /// - Parameter roots: the newest trees; what they do not have is left out.
  func forEachDeclaration(in roots: RootSet, _ body: (_ kind: UInt8, _ payload: ByteView) -> Void)
  /// Drops everything that `apply` has kept back: the transaction was rolled back.
  func reset()
}

extension Applier {
  package func finishReplay(_ changes: StoreTransaction) throws(LogFault) { try flush(changes) }
  package func facts(_ changes: StoreTransaction) -> (any RootFacts)? { nil }
  package func declarationCount(in roots: RootSet) -> Int { 0 }
  package func forEachDeclaration(in roots: RootSet, _ body: (_ kind: UInt8, _ payload: ByteView) -> Void) {}
}
