/// A folder that is open. Closes with the last reference.
final class FolderDescriptor: Sendable {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { SystemCall.close(number) }
}
