struct KeyValueRewriter: Rewriter {
  func makeApplier() -> any Applier { KeyValueApplier() }

  func writeImage(of pin: Store.Pin, _ source: Store, to writer: ImageWriter) throws(StoreError) {
    let buffer = ByteBuffer()
    var cursor = pin.reader.cursor(in: pin.root(0))
    while try moved({ () throws(PageFault) in try cursor.next() }) {
      cursor.touchAhead(isPacked: false)
      let place = try KeyValueStore.place(cursor.value)
      let operation = try source.copyOperation(at: place, end: pin.end, into: buffer)
      try writer.append(Operation.payload(operation), kind: KeyValueApplier.Kind.put)
      try writer.pause()
    }
  }

  private func moved(_ body: () throws(PageFault) -> Bool) throws(StoreError) -> Bool {
    do { return try body() } catch { throw StoreError(error) }
  }

  func copy(_ commit: CommitReader, to batch: CommitBatch) throws(StoreError) -> UInt64 { try batch.append(commit) }
}
