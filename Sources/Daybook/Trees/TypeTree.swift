import DaybookEngine

/// A zone's tree by type: the records of each type in the order of their names.
///
///     key     type, 0, name
///     value   nothing
enum TypeTree: IdentityTree {
  @inline(__always)
  static func appendKey(type: ByteView, name: ByteView, to key: ByteBuffer) {
    key.append(type)
    key.append(0)
    key.append(name)
  }
}
