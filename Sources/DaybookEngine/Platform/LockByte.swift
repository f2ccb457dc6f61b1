/// The bytes of the file that locks are taken on; they lie far behind any content.
package enum LockByte: Int, Sendable {
  case writer = 0x4000_0000_0000_0000
  case readers = 0x4000_0000_0000_0001
  /// Shared by those who wait for the writer's byte, so that its holder knows.
  case waiting = 0x4000_0000_0000_0002
}
