/// Why an output is refused.
package enum OutputRefusal: Sendable {
  /// A folder has the name.
  case folder
  /// What has the name is a block device or a socket, or no regular file where only one may be.
  case otherKind
  /// A link on the way belongs to another user, who would choose what is overwritten.
  case foreignLink
  /// A pipe or device belongs to another user, who would get the records.
  case foreignPipe
  /// Nobody reads from the pipe.
  case unreadPipe
  /// The place is the database itself or a part of it.
  case database
  /// A file that has content has the name, and is not to be replaced.
  case exists
  /// After the file got its name, the name led to something else.
  case nameTaken
}
