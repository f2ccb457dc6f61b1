import Daybook
import DaybookEngine

/// An open database, shared by the threads of a process, and the newest commit that it has shown.
///
/// Always true: no thread is later shown less than any thread was shown before.
final class ProcessOpen {
  let database: Database
  let disk: ProcessDisk
  /// Its number as a writer.
  let number: Int
  /// What it shows next must be based on this commit.
  private(set) var seen = 0

  init(_ database: Database, _ disk: ProcessDisk, _ number: Int) {
    self.database = database
    self.disk = disk
    self.number = number
  }

  func advance(to commit: Int, _ history: ProcessHistory) { if history.stands(commit, on: seen) { seen = commit } }
}
