/// What tells one file from another while both exist.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64
  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}
