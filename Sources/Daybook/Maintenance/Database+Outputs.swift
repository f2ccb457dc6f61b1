import DaybookEngine

extension Database {
  /// The rules for files that show data of this database: they are no part of it, and readable for no more people.
  package func outputRules() throws(DatabaseError) -> OutputRules {
    do throws(DiskFailure) {
      return try OutputRules(
        path: path, file: store.identity, attributes: store.fileAttributes(for: library.store.disk),
        on: library.store.disk
      ) { [self] identity in
        // Where the folder cannot be listed, every file counts as a part: then nothing is written.
        (try? library.store.holds(identity)) ?? true
      }
    } catch { throw DatabaseError(error) }
  }

  /// The same for a file that is not open, and may not be one of ours: no stream is to lead there while it is looked at. Nil when there is
  /// nothing, or nothing that can be reached.
  package static func outputRules(forFileAt path: String) -> OutputRules? {
    // From the folder that holds it, which is opened once and used from there: no path is resolved again in a folder where others may rename.
    let walk = SystemDisk()
    guard let place = try? walk.resolve(path), let disk = try? walk.keepingFolder(holding: place),
      let file = try? disk.identity(of: place)
    else { return nil }
    let store = AssetStore(path: place, disk: disk, random: { .random(in: 0 ... .max) })
    return try? OutputRules(path: place, file: file, attributes: nil, on: disk) { identity in
      (try? store.holds(identity)) ?? true
    }
  }
}
