/// The operating system's disk: names and directories. What happens inside a file is `SystemFile`'s.
///
/// Relies on a file system whose `rename` is atomic and whose directories can be synced. Every failure becomes a
/// `DiskFailure` with the operation, the path and the errno.
package final class SystemDisk: Disk {
  package init() {}

  package func open(_ path: String, _ mode: OpenMode) throws(DiskFailure) -> any DiskFile {
    let operation: DiskFailure.Operation = mode == .createNew ? .create : .open
    do throws(SystemError) {
      let descriptor = try SystemCall.open(path, mode)
      do throws(SystemError) {
        let status = try SystemCall.status(descriptor)
        return SystemFile(path: path, descriptor: descriptor, identity: status.identity)
      } catch {
        SystemCall.close(descriptor)
        throw error
      }
    } catch {
      throw DiskFailure(operation, path: path, code: error.code)
    }
  }

  package func create(_ path: String, byteCount: Int) throws(DiskFailure) -> any DiskFile { try open(path, .createNew) }

  package func exists(_ path: String) throws(DiskFailure) -> Bool {
    try identity(of: path) != nil
  }

  package func identity(of path: String) throws(DiskFailure) -> FileIdentity? {
    do {
      return try SystemCall.status(path).identity
    } catch {
      let failure = DiskFailure(.status, path: path, code: error.code)
      if failure.kind == .notFound { return nil }
      throw failure
    }
  }

  package func rename(_ source: String, to target: String) throws(DiskFailure) {
    do { try SystemCall.rename(source, to: target) } catch {
      throw DiskFailure(.rename, path: source, code: error.code)
    }
  }

  package func renameWithoutReplacing(_ source: String, to target: String) throws(DiskFailure) {
    do { try SystemCall.renameWithoutReplacing(source, to: target) } catch {
      throw DiskFailure(.rename, path: source, code: error.code)
    }
  }

  package func remove(_ path: String) throws(DiskFailure) {
    do { try SystemCall.unlink(path) } catch {
      throw DiskFailure(.remove, path: path, code: error.code)
    }
  }

  package func clone(_ source: String, to target: String) throws(DiskFailure) -> Bool {
    do { return try SystemCall.clone(source, to: target) } catch {
      throw DiskFailure(.create, path: target, code: error.code)
    }
  }

  package func link(_ source: String, to target: String) throws(DiskFailure) {
    do { try SystemCall.link(source, to: target) } catch {
      throw DiskFailure(.link, path: source, code: error.code)
    }
  }

  package func makeDirectory(_ path: String) throws(DiskFailure) {
    do { try SystemCall.makeDirectory(path) } catch {
      throw DiskFailure(.makeDirectory, path: path, code: error.code)
    }
  }

  package func removeDirectory(_ path: String) throws(DiskFailure) {
    do { try SystemCall.removeDirectory(path) } catch {
      throw DiskFailure(.remove, path: path, code: error.code)
    }
  }

  package func entries(of directory: String) throws(DiskFailure) -> [DirectoryEntry] {
    do { return try SystemCall.entries(of: directory).sorted { $0.name < $1.name } } catch {
      throw DiskFailure(.list, path: directory, code: error.code)
    }
  }

  package func syncDirectory(holding path: String) throws(DiskFailure) {
    do {
      let descriptor = try SystemCall.openDirectory(directory(holding: path))
      defer { SystemCall.close(descriptor) }
      try SystemCall.syncDirectory(descriptor)
    } catch {
      throw DiskFailure(.syncDirectory, path: path, code: error.code)
    }
  }
}

/// The directory part of a path: "." for a bare name, "/" for what lies at the root.
package func directory(holding path: String) -> String {
  // Bytes, not characters: a slash with a combining mark behind it is one character, and two to the system.
  guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}
