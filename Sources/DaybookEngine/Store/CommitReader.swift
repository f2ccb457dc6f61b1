/// One commit of a log that is being copied. Each operation is verified in the copy that the caller gets, so the new file never
/// computes a checksum over bytes that have changed in the meantime.
@safe package struct CommitReader {
  let store: Store
  let end: UInt64
  let header: FrameHeader
  let places: [Place]
  private let buffer = ByteBuffer(capacity: 4096)

  init(store: Store, end: UInt64, header: FrameHeader, places: [Place]) {
    self.store = store
    self.end = end
    self.header = header
    self.places = places
  }

  package var sequence: UInt64 { header.sequence }
  package var isImage: Bool { header.isImage }
  package var count: Int { places.count }
  /// About how much of the log it takes: its frame, or the operations in its parts.
  var byteCount: UInt64 { max(header.next - header.offset, places.reduce(0) { $0 + UInt64($1.byteCount) }) }

  /// Kind and payload of an operation; the payload is valid until the next call.
  package func operation(_ index: Int) throws(StoreError) -> (kind: UInt8, payload: ByteView) {
    let bytes = try store.copyOperation(at: places[index], end: end, into: buffer)
    return (Operation.kind(bytes), Operation.payload(bytes))
  }
}
