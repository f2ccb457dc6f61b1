import DaybookEngine

/// A write that the disk accepts and does not carry out. The call succeeds, and so does every later sync: the disk lies.
package struct SimulatedLie: Sendable {
  package enum Kind: Sendable {
    /// The bytes never arrive.
    case loses
    /// The bytes arrive so many sectors away, over what lies there.
    case misdirects(sectorCount: Int)
  }
  package var kind: Kind
  /// Which write lies, counted from 1 when the lie is set.
  package var write: Int
  package var path: String?

  package init(_ kind: Kind, write: Int, path: String? = nil) {
    self.kind = kind
    self.write = write
    self.path = path
  }
}
