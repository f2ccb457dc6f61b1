#if !canImport(CloudKit)
  import Daybook
  import DaybookEngine
  import Foundation

  /// A container that is opened when it is first needed: one for each identifier and folder.
  ///
  /// It stays open as long as the program runs, as CloudKit's do. While it is open, changes of the account are posted.
  ///
  /// Until it is open its folder is a path, byte by byte, and need not exist. Once it is open the folder is the one that was opened:
  /// another one that has the path by now has containers of its own.
  final class ContainerOpening: Sendable {
    /// A child after `fork` opens its containers for itself.
    private static let known = PerProcess { Locked<[[UInt8]: [ContainerOpening]]>([:]) }

    let identifier: String
    private let setting: CKContainer.Setting
    private let container_ = Locked<Container?>(nil)
    /// The folder of the open container, where the disk tells folders apart. With a lock of its own: opening takes long.
    private let folder = Locked<FileIdentity?>(nil)
    private let path: [UInt8]
    private let process = processID()

    private init(_ identifier: String, _ setting: CKContainer.Setting) {
      self.identifier = identifier
      self.setting = setting
      path = Self.path(setting)
    }

    private static func path(_ setting: CKContainer.Setting) -> [UInt8] {
      Array(setting.directory.standardizedFileURL.path.utf8)
    }

    static func of(_ identifier: String, _ setting: CKContainer.Setting) -> ContainerOpening {
      let path = path(setting)
      let present = try? SystemDisk().identity(of: setting.directory.path)
      return known.value.withLock { known in
        let all = known[Array(identifier.utf8), default: []]
        // First the one that an earlier container of this path has, if it is none of another folder.
        if let opening = all.first(where: { $0.path == path && $0.isOf(present) }) { return opening }
        if let opening = all.first(where: { $0.isOpen(in: present) }) { return opening }
        let new = ContainerOpening(identifier, setting)
        known[Array(identifier.utf8), default: []].append(new)
        return new
      }
    }

    /// Whether it is not open in another folder than this one.
    private func isOf(_ folder: FileIdentity?) -> Bool {
      let own = self.folder.withLock { $0 }
      return own == nil || own == folder
    }

    private func isOpen(in folder: FileIdentity?) -> Bool { folder != nil && self.folder.withLock { $0 } == folder }

    /// The container, opened by the first who asks.
    ///
    /// No thread waits here for a lock: an opening waits until another thread has closed the container, and that waits for
    /// transactions, whose closures may ask, too. Those are refused by the container itself.
    func container() throws(DatabaseError) -> Container {
      try checkProcess()
      if let known = container_.withLock({ $0 }), !known.isClosed { return known }
      let directory = setting.directory
      do {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      } catch {
        throw DatabaseError(
          .ioFailed, "The folder of the containers cannot be made.", facts: .init(path: directory.path), cause: error)
      }
      let new = try Container.open(identifier, in: directory, options: setting.options)
      let faster = container_.withLock { (known) -> Container? in
        if let known, !known.isClosed { return known }
        known = new
        folder.withLock { $0 = new.folderIdentity }
        return nil
      }
      guard let faster else {
        post(new.accountStatusChanges())
        return new
      }
      // One opening less of the same container; within a transaction that is another thread's business.
      do { try new.close() } catch { DispatchQueue.global().async { try? new.close() } }
      return faster
    }

    /// Another thread of the parent may have been opening it at the fork.
    private func checkProcess() throws(DatabaseError) {
      if process == processID() { return }
      throw DatabaseError(
        .closed, "A container cannot be used in a child process after fork; make another one there.",
        facts: .init(path: setting.directory.path, name: identifier))
    }

    private func post(_ changes: AsyncStream<AccountStatus>) {
      Task {
        for await _ in changes { NotificationCenter.default.post(name: .CKAccountChanged, object: nil) }
      }
    }

    /// Closes the container for tests and for programs that hand its files over; the next request opens it again.
    func close() throws(DatabaseError) {
      try checkProcess()
      guard let open = container_.withLock({ $0 }) else { return }
      try open.close()
      container_.withLock { known in
        guard known === open else { return }
        known = nil
        folder.withLock { $0 = nil }
      }
    }
  }

  extension CKContainer {
    /// Closes the files, of all who have this container; the next request opens them again. CloudKit has no such call: a program
    /// that moves the files or hands them to another needs one.
    public func close() throws(DatabaseError) { try opening.close() }
  }
#endif
