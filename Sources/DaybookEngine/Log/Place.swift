/// Where an operation is in the log.
package struct Place: Sendable, Equatable {
  package static let encodedByteCount = 12
  package var offset: UInt64
  package var byteCount: UInt32
  @inlinable package init(offset: UInt64, byteCount: UInt32) {
    self.offset = offset
    self.byteCount = byteCount
  }
  package static let none = Place(offset: 0, byteCount: 0)
}
