/// Why a place is not written to.
package enum OutputRefusal: Sendable {
  /// A folder has the name.
  case folder
  /// What has the name is a block device or a socket, or no regular file where only one may be.
  case otherKind
  /// A link on the way belongs to somebody else, who would choose what is overwritten.
  case foreignLink
  /// A pipe or device belongs to somebody else, who would get the records.
  case foreignPipe
  /// Nobody reads from the pipe.
  case unreadPipe
  /// The database itself or a part of it.
  case database
  /// The name led to something else when the file had been given it.
  case nameTaken
}
