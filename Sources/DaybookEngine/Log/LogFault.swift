/// What is wrong with the log, where the file itself could be read.
package enum LogFault: Error, Sendable, Equatable {
  /// An operation's length does not fit into its frame.
  case operation
  /// The layer above does not understand an operation.
  case unknownOperation(kind: UInt8)
  /// The file cannot be read without features that the layer above does not know.
  case requires(features: UInt64)
  /// An operation contradicts the trees.
  case inconsistent
  /// A cell of the catalog has more trees than the layer above knows.
  case unknownTrees(count: Int)
  case page(PageFault)
}
