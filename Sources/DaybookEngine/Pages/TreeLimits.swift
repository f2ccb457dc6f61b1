/// Limits of trees, written down in FORMAT.md.
package enum TreeLimits {
  /// The longest key of any tree.
  package static let maximumKeyByteCount = 1280
  /// The longest value that a leaf holds; longer ones live in the log, and the leaf holds their place.
  package static let maximumValueByteCount = 512
  /// The longest key and value of a cell together: two such cells fit into a page. In a catalog, a short key leaves more room
  /// for the value.
  static let maximumCellByteCount = maximumKeyByteCount + maximumValueByteCount
  /// Levels of a tree; more is damage.
  package static let maximumDepth = 24
}
