import DaybookEngine

/// How much there is to choose.
package struct PendingChanges: Sendable, Equatable {
  package var unitCount = 0
  package var nameCount = 0
  package var hasSizes = false

  package init(unitCount: Int = 0, nameCount: Int = 0, hasSizes: Bool = false) {
    self.unitCount = unitCount
    self.nameCount = nameCount
    self.hasSizes = hasSizes
  }
}
