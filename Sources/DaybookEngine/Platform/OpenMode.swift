/// `readContent` is for reading names that others may have planted: it never waits for anybody, and what is no regular file,
/// be it a pipe, a device or a link, is `.notRegular`.
package enum OpenMode: Sendable {
  case readOnly, readWrite, createNew, readContent

  package var mayWrite: Bool { self == .readWrite || self == .createNew }
}
