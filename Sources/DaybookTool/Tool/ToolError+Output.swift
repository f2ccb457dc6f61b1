import Daybook
import DaybookEngine
import Foundation

extension ToolError {
  /// Why an output cannot go where it was sent.
  init(_ fault: OutputFault) {
    switch fault {
    case .disk(let failure):
      if failure.kind == .notFound, let folder = Self.missingFolder(of: failure.path) {
        self.init(
          .inputOutput, "\(failure.path) cannot be written: there is no directory \(folder).",
          advice: "Make the directory first, or check the path.")
        return
      }
      let problem = ToolError(DatabaseError(failure))
      self.init(
        problem.status, "\(failure.path) cannot be written. \(problem.message)",
        advice: failure.kind == .permission
          ? "A file is made beside the one that it replaces; with - the shell can write it: daybook … - > OUT" : problem.advice)
    case .refused(let refusal, let path):
      switch refusal {
      case .folder: self.init(.inputOutput, "\(path) is a directory.", advice: "Give the name of a file.")
      case .otherKind: self.init(.inputOutput, "\(path) is not a regular file, and nothing else that can be written to.")
      case .foreignLink:
        self.init(
          .inputOutput, "\(path) is a link of another user's.", advice: "If you mean what it leads to, give the path of that.")
      case .foreignPipe:
        self.init(
          .inputOutput, "\(path) is a pipe or a device of another user's.",
          advice: "If you mean to send the records there: daybook … - > OUT")
      case .unreadPipe: self.init(.inputOutput, "Nobody reads from the pipe \(path).", advice: "Start its reader first.")
      case .database:
        self.init(.usage, "\(path) is the database itself or a part of it.", advice: "Nothing was written; give another name.")
      case .exists:
        self.init(
          .inputOutput, "\(path) is there already, and has content.",
          advice: "Nothing was written: give another name, or --force to replace the file.")
      case .nameTaken:
        self.init(.inputOutput, "Another file took the name \(path) meanwhile.", advice: "Who else may write to its directory?")
      }
    }
  }

  /// The first directory on the way to a path that is not there; nil when all of them are.
  static func missingFolder(of path: String) -> String? {
    var missing: String?
    var folder = DaybookEngine.directory(holding: path)
    while !FileManager.default.fileExists(atPath: folder) {
      missing = folder
      let parent = DaybookEngine.directory(holding: folder)
      if parent == folder { break }
      folder = parent
    }
    return missing
  }
}
