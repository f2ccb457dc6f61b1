import DaybookEngine

/// A walk over the field table of checked bytes.
package struct FieldCursor {
  package struct Field {
    package let mark: FieldMark
    package let key: ByteView
    package let value: ByteView
  }

  private let view: ByteView
  private var row: Int
  private let rowsEnd: Int
  private var keyStart: Int
  private var valueStart: Int
  private let valuesStart: Int

  init(_ view: ByteView, _ layout: RecordBody.Layout) {
    self.view = view
    row = layout.fieldsStart + 2
    rowsEnd = layout.keysStart
    keyStart = layout.keysStart
    valuesStart = layout.valuesStart
    valueStart = layout.valuesStart
  }

  package mutating func next() -> Field? {
    guard row < rowsEnd else { return nil }
    let keyEnd = keyStart &+ Int(view[row &+ 1])
    let valueEnd = valuesStart &+ Int(view.uint32(at: row &+ 2))
    let field = Field(
      mark: FieldMark(rawValue: view[row]), key: view.slice(keyStart..<keyEnd),
      value: view.slice(valueStart..<valueEnd))
    row &+= RecordBody.tableStride
    keyStart = keyEnd
    valueStart = valueEnd
    return field
  }
}
