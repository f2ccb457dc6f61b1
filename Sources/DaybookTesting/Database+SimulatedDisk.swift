import Daybook
import DaybookEngine

/// Databases on a simulated disk are databases like any other, but for what would make a test differ from run to run.

extension Database {
  /// Opens the database at a path of a simulated disk, and creates it when there is none.
  ///
  /// It does all its work in its callers' threads, so that a test counts the same calls in each run: checkpoints are made by the
  /// commit that is due for one, and nothing is compacted unasked. It reads as with ``Options/Access/buffered``, whatever the
  /// options say, because reads of a mapped file could not fail. A read-only one beside a writer shows the last commit when
  /// the next one has been made or the writer has closed.
  ///
  /// Dates are those of `options.now`. What takes another path (``backup(to:linksAssets:progress:)``, the file of an
  /// ``Asset``) takes it on the real disk.
  /// - Parameters:
  ///   - path: the name of the file on the disk; directories need not be made.
  ///   - disk: kept as long as the database.
  /// - Throws: what ``open(at:options:)`` throws.
  public static func open(
    at path: String, on disk: SimulatedDisk, options: Options = .init()
  ) throws(DatabaseError) -> Database {
    try open(at: path, options: options.simulated(on: disk), disk: disk)
  }
}

extension Container {
  /// Opens a container in a directory of a simulated disk, and creates what is missing of it. Its databases are opened as
  /// `Database.open(at:on:options:)` opens one.
  /// - Throws: what ``open(_:in:options:)`` throws.
  public static func open(
    _ id: String, in directory: String, on disk: SimulatedDisk, options: Database.Options = .init()
  ) throws(DatabaseError) -> Container {
    try open(id, in: directory, options: options.simulated(on: disk), disk: disk)
  }
}

extension Database.Options {
  fileprivate func simulated(on disk: SimulatedDisk) -> Database.Options {
    var options = self
    options.access = .buffered
    options.hasBackgroundThread = false
    // Nobody writes notes, so who opens to read beside a writer would wait in vain.
    options.proofTimeout = .zero
    options.random = { disk.nextIdentity() }
    return options
  }
}
