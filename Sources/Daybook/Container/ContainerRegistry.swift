import DaybookEngine

/// The containers that are open in this process. While one is being opened or closed, other threads that open it wait; those
/// that open another one do not.
///
/// The order is: first a container, then the turns of its databases, which a close waits for. So within a transaction opening a
/// container that is being closed does not wait; it is refused.
///
/// Always true: which opening of a container is the last is decided in the same step that keeps others from opening it. In two
/// steps, the next one would find its files locked. And an entry that is busy, or whose container lives, has its directory open,
/// so that no other directory has its key (`ContainerFolder`).
final class ContainerRegistry: @unchecked Sendable {
  /// A child after `fork` begins with an empty one: what its parent has open is no use to it, and a lock of the parent's may
  /// never be released there.
  static var shared: ContainerRegistry { current.value }
  private static let current = PerProcess { ContainerRegistry() }

  private struct Entry {
    weak var container: OpenContainer?
    /// A thread opens or closes it.
    var isBusy: Bool
    /// Closes it: waits for the transactions of its databases.
    var isClosing = false
  }

  let monitor = Monitor()
  // Guarded by the monitor.
  private var entries: [ContainerFolder.Key: Entry] = [:]

  /// One opening more of a container.
  func open(
    _ id: String, in directory: String, options: Database.Options, disk: any Disk
  ) throws(DatabaseError) -> Container {
    let folder: ContainerFolder
    if options.createsDirectory, !options.isReadOnly, disk is SystemDisk {
      try Database.makeDirectory(for: ContainerName.accountPath(id, in: directory))
    }
    do throws(DiskFailure) { folder = try ContainerFolder(directory, on: disk) } catch {
      guard error.kind == .notFound else { throw DatabaseError(error) }
      if options.isReadOnly { throw OpenContainer.missing(id, ContainerName.accountPath(id, in: directory)) }
      throw DatabaseError(
        .ioFailed, "The directory of the container does not exist.", facts: .init(path: directory), cause: error)
    }
    // Until the container has its own, this object keeps the directory open, and so the key is of no other one.
    defer { withExtendedLifetime(folder) {} }
    let key = ContainerFolder.Key(id, in: folder)
    let known = try claim(key)
    do throws(DatabaseError) {
      let container: OpenContainer
      if let known {
        container = known
      } else {
        container = try OpenContainer(id, in: directory, folder, key: key, options: options)
      }
      let databases = try container.openDatabases(monitor)
      if known == nil { container.removeLeftovers() }
      finish(key) {
        container.openingCount += 1
        return Entry(container: container, isBusy: false)
      }
      return Container(container, databases)
    } catch {
      finish(key) { known.map { Entry(container: $0, isBusy: false) } }
      throw error
    }
  }

  /// Waits until no other thread is busy with a container, and marks it as busy. Returns what is open of it.
  /// - Throws: while the container is closed, within a transaction of one of its databases, for whose end the close waits.
  private func claim(_ key: ContainerFolder.Key) throws(DatabaseError) -> OpenContainer? {
    // The container whose close the caller does not hold up.
    var harmless: ObjectIdentifier?
    monitor.lock()
    defer { monitor.unlock() }
    while let entry = entries[key], entry.isBusy {
      guard entry.isClosing, let closing = entry.container, harmless != ObjectIdentifier(closing) else {
        monitor.wait()
        continue
      }
      // Outside of the monitor: releasing the last reference of a database closes it, which needs the monitor.
      monitor.unlock()
      let answer = Result { () throws(DatabaseError) in try closing.checkCaller(monitor) }
      monitor.lock()
      try answer.get()
      harmless = ObjectIdentifier(closing)
    }
    let known = entries[key]?.container
    entries[key] = Entry(container: known, isBusy: true)
    return known
  }

  private func finish(_ key: ContainerFolder.Key, _ entry: () -> Entry?) {
    monitor.withLock {
      entries[key] = entry()
      monitor.broadcast()
    }
  }

  /// Throws within a transaction of one of a container's databases, which its close would wait for.
  func checkCaller(_ container: OpenContainer) throws(DatabaseError) {
    try container.checkProcess()
    try container.checkCaller(monitor)
  }

  /// One opening less. With the last one the databases are closed; a thread that opens them meanwhile waits, and opens them
  /// again.
  func close(_ container: OpenContainer) throws(DatabaseError) {
    try container.checkProcess()
    let isLast = monitor.withLock {
      while entries[container.key]?.isBusy == true { monitor.wait() }
      container.openingCount -= 1
      let isLast = container.openingCount == 0 && !container.hasLostOpening
      if isLast { entries[container.key] = Entry(container: container, isBusy: true, isClosing: true) }
      return isLast
    }
    guard isLast else { return }
    defer { finish(container.key) { nil } }
    try container.closeDatabases(monitor)
  }

  /// An opening was released without having been closed.
  func lose(_ container: OpenContainer) {
    if container.process != processID() { return }
    monitor.withLock {
      container.openingCount -= 1
      container.hasLostOpening = true
    }
  }
}
