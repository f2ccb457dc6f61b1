#if !canImport(CloudKit)
  import Daybook
  import DaybookEngine
  import Foundation

  /// A container that is opened when it is first needed: one for each identifier and folder.
  ///
  /// It stays open as long as the program runs, as CloudKit's do. While it is open, changes of the account are posted.
  final class ContainerOpening: Sendable {
    /// A child after `fork` opens its containers for itself.
    private static let known = PerProcess { Locked<[String: ContainerOpening]>([:]) }

    let identifier: String
    private let setting: CKContainer.Setting
    private let container_ = Locked<Container?>(nil)
    private let process = processID()

    private init(_ identifier: String, _ setting: CKContainer.Setting) {
      self.identifier = identifier
      self.setting = setting
    }

    static func of(_ identifier: String, _ setting: CKContainer.Setting) -> ContainerOpening {
      known.value.withLock { known in
        let key = setting.directory.standardizedFileURL.path + "/" + identifier
        if let opening = known[key] { return opening }
        let new = ContainerOpening(identifier, setting)
        known[key] = new
        return new
      }
    }

    /// The container, opened by the first who asks.
    ///
    /// Nobody waits here for a lock: an opening waits until another thread has closed the container, and that waits for
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
      container_.withLock { known in if known === open { known = nil } }
    }
  }

  extension CKContainer {
    /// Closes the files, of all who have this container; the next request opens them again. CloudKit has no such call: a program
    /// that moves the files or hands them to another needs one.
    public func close() throws(DatabaseError) { try opening.close() }
  }
#endif
