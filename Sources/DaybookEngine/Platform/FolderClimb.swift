/// The way up from an open folder, by descriptors: a path could lead elsewhere by now.
enum FolderClimb {
  /// Whether an open folder is another one, or lies in it.
  static func leads(from start: Int32, to wanted: FileIdentity) throws(SystemError) -> Bool {
    var identity = try FolderCall.status(of: start).identity
    var folder: FolderDescriptor?
    while identity != wanted {
      let above: FileIdentity
      do throws(SystemError) {
        let parent = FolderDescriptor(try FolderCall.openFolder("..", in: folder?.number ?? start))
        above = try FolderCall.status(of: parent.number).identity
        folder = parent
      } catch {
        // A user who may not look up there cannot have come down from there; only the folders below matter.
        guard error.code == ErrorNumber.permission else { throw error }
        return false
      }
      // The root is its own parent.
      if above == identity { return false }
      identity = above
    }
    return true
  }
}
