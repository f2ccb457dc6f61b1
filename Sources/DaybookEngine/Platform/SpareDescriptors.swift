/// Descriptors that are taken before work begins, and given up when it fails: what fails for want of them needs some to remove what
/// it has made.
///
/// Another thread may take them in that moment. Then what was made stays, as after a kill.
package final class SpareDescriptors: Sendable {
  private let folders: Locked<[FolderDescriptor]>

  init(_ folders: [FolderDescriptor]) { self.folders = Locked(folders) }

  /// From now on others may have them.
  package func release() { folders.withLock { $0 = [] } }
}
