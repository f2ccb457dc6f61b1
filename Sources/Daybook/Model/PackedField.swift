import DaybookEngine

/// A field of a shape, and what finds its value in a packed body that has all fields of the shape: the values in front of it.
struct PackedField {
  let mark: FieldMark
  /// How many values of eight bytes are in front.
  let fixedCount: Int
  /// How many of any length, but for the last one of the body.
  let variableCount: Int
  /// The last value of any length, whose length is not in the body, is in front, too.
  let isAfterImplied: Bool
  /// It is that value.
  let isImplied: Bool
}

extension Declared {
  /// The field with a key; nil when the shape does not have it.
  func field(_ key: ByteView) -> PackedField? {
    let table = table
    var keyStart = 2 + RecordBody.tableStride * fieldCount
    var variableCount = 0
    for index in 0..<fieldCount {
      let row = 2 + RecordBody.tableStride * index
      let keyEnd = keyStart + Int(table[row + 1])
      let mark = FieldMark(rawValue: table[row])
      if UTF8Order.equal(table.slice(keyStart..<keyEnd), key) {
        let isAfterImplied = variableCount > 0 && variableCount == self.variableCount
        return PackedField(
          mark: mark, fixedCount: index - variableCount, variableCount: isAfterImplied ? variableCount - 1 : variableCount,
          isAfterImplied: isAfterImplied, isImplied: !mark.isOfEightBytes && variableCount == self.variableCount - 1)
      }
      if !mark.isOfEightBytes { variableCount += 1 }
      keyStart = keyEnd
    }
    return nil
  }
}
