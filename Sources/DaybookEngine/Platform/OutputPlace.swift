/// Where an output goes that the user has named: a file that is put in place when it is complete, or a pipe or device that
/// takes the bytes as they come.
///
///     a free name, a regular file   a new file in the same folder, under a name of its own, that takes the name at the end
///     a pipe, a character device    is written to, if it is ours or root's; a pipe must have a reader
///     /dev/stdout, /dev/fd/N        what has that number already
///     a link                        leads to one of these if it is ours or root's
///
/// Everything else is refused, and so is any part of the database that is being read, by whatever name. A path is walked only
/// once: the folder stays open, the new file is renamed inside it, and then the name must lead to that file.
///
/// Always true: what is made never has wider rights than `OutputRules.attributes`, not even for a moment. Belongs to one
/// thread.
package final class OutputPlace {
  /// What takes the bytes: a file that does not have its final name yet, or what was there already.
  private enum Target {
    case file(FolderDescriptor, name: String, temporary: String, identity: FileIdentity)
    case stream
  }

  private let path: String
  private let descriptor: Int32
  private var target: Target
  private let rules: OutputRules
  /// Whether a file that has the name, and content, gives way.
  private let replaces: Bool
  /// Whether a person sees the output.
  package let isTerminal: Bool

  /// Prepares the output at a path.
  /// - Parameter replaces: false refuses a file that is there and has content, before anything is written.
  package init(_ path: String, _ rules: OutputRules, replaces: Bool = true) throws(OutputFault) {
    self.path = path
    self.rules = rules
    self.replaces = replaces
    var isFile = false
    do throws(OutputProblem) {
      switch try OutputWalk(path).end {
      case .descriptor(let number): (descriptor, target) = (try Self.open(number, rules), .stream)
      case .name(let name, let folder, let status):
        switch status?.kind {
        case nil, .regular?:
          isFile = true
          if let status {
            // What belongs to the database is called so first.
            try rules.check(status)
            try rules.check(name, status, in: folder)
            if !replaces, status.byteCount > 0 { throw .refused(.exists) }
          }
          (descriptor, target) = try Self.makeFile(name, folder, status, rules)
        case .pipe?, .characterDevice?: (descriptor, target) = (try Self.open(name, folder, status), .stream)
        case .folder?: throw .refused(.folder)
        case .link?, .other?: throw .refused(.otherKind)
        }
      }
    } catch { throw OutputFault(error, path: path) }
    isTerminal = !isFile && FolderCall.isTerminal(descriptor)
  }

  /// Prepares a file in a folder of outputs. A link with the name is not followed; what has the name must be a regular file.
  package init(_ name: String, in folder: OutputFolder, _ rules: OutputRules) throws(OutputFault) {
    path = folder.path + "/" + name
    self.rules = rules
    replaces = true
    isTerminal = false
    do throws(OutputProblem) {
      let status = try OutputProblem.on { () throws(SystemError) in
        try FolderCall.status(of: name, in: folder.descriptor.number)
      }
      guard status == nil || status?.kind == .regular else { throw .refused(.otherKind) }
      (descriptor, target) = try Self.makeFile(name, folder.descriptor, status, rules)
    } catch { throw OutputFault(error, path: path) }
  }

  deinit {
    SystemCall.close(descriptor)
    guard case .file(let folder, _, let temporary, let identity) = target else { return }
    // Not finished: remove the temporary file. Its name is random; make sure that it is still the same file.
    guard let status = try? FolderCall.status(of: temporary, in: folder.number), status.identity == identity else { return }
    try? SystemCall.unlink(in: folder.number, temporary)
  }

  package func write(_ bytes: [UInt8]) throws(OutputFault) {
    do { try FolderCall.write(bytes, to: descriptor) } catch {
      throw .disk(DiskFailure(.write, path: path, code: error.code))
    }
  }

  /// Syncs the file and gives it its name, replacing what has it. Does nothing for a pipe or device.
  package func finish() throws(OutputFault) {
    guard case .file(let folder, let name, let temporary, let identity) = target else { return }
    do throws(OutputProblem) {
      try OutputProblem.on { () throws(SystemError) in try SystemCall.sync(descriptor, .full) }
      // Someone may have put a database there in the meantime.
      let status = try OutputProblem.on { () throws(SystemError) in try FolderCall.status(of: name, in: folder.number) }
      if let status {
        try rules.check(status)
        if !replaces, status.byteCount > 0 { throw .refused(.exists) }
      }
      try OutputProblem.on { () throws(SystemError) in
        try SystemCall.rename(in: folder.number, temporary, to: folder.number, name)
      }
      target = .stream
      let given = try OutputProblem.on { () throws(SystemError) in try FolderCall.status(of: name, in: folder.number) }
      guard given?.identity == identity else { throw .refused(.nameTaken) }
    } catch { throw OutputFault(error, path: path) }
  }

  /// Throws when what a descriptor leads to is the database or a part of it: for standard output and the like, which are written to
  /// as they are. One that is closed leads nowhere.
  package static func check(_ number: Int32, _ rules: OutputRules, name: String) throws(OutputFault) {
    guard let status = try? FolderCall.status(of: number) else { return }
    do { try rules.check(status, isOpen: true) } catch { throw OutputFault(error, path: name) }
  }

  // MARK: opening

  private static func makeFile(
    _ name: String, _ folder: FolderDescriptor, _ present: NameStatus?, _ rules: OutputRules
  ) throws(OutputProblem) -> (Int32, Target) {
    if let present { try rules.check(present) }
    try rules.check(name, present, in: folder)
    let temporary = ".daybook-" + String(UInt64.random(in: 0 ... .max), radix: 16)
    return try OutputProblem.on { () throws(SystemError) in
      let (mode, group) = try rules.mode(of: present, name, in: folder, isFolder: false)
      let descriptor = try makeNew(temporary, folder, mode)
      do throws(SystemError) {
        let status = try FolderCall.status(of: descriptor)
        // It got an unexpected group.
        if status.group != group { try FolderCall.setRights(status.mode & 0o700, of: descriptor) }
        return (descriptor, .file(folder, name: name, temporary: temporary, identity: status.identity))
      } catch {
        SystemCall.close(descriptor)
        try? SystemCall.unlink(in: folder.number, temporary)
        throw error
      }
    }
  }

  /// A folder may give new files an access control list that lets in users whom the mode excludes. Such a file was open to them
  /// for a moment, so another file takes its place, which only its owner may use.
  private static func makeNew(
    _ name: String, _ folder: FolderDescriptor, _ mode: UInt32
  ) throws(SystemError) -> Int32 {
    let descriptor = try SystemCall.open(in: folder.number, name, .createNew, rights: mode)
    do throws(SystemError) {
      guard OutputRules.isForFew(mode), try SystemCall.hasList(descriptor) else { return descriptor }
    } catch {
      SystemCall.close(descriptor)
      try? SystemCall.unlink(in: folder.number, name)
      throw error
    }
    SystemCall.close(descriptor)
    try SystemCall.unlink(in: folder.number, name)
    return try SystemCall.open(in: folder.number, name, .createNew, rights: mode & 0o700)
  }

  /// A pipe or a device, if it belongs to this user or to root: anyone else's would hand the records to that user.
  private static func open(
    _ name: String, _ folder: FolderDescriptor, _ status: NameStatus?
  ) throws(OutputProblem) -> Int32 {
    guard let status, OutputWalk.isTrusted(status.owner) else { throw .refused(.foreignPipe) }
    let descriptor: Int32
    do { descriptor = try FolderCall.openExisting(name, in: folder.number) } catch {
      throw error.code == ErrorNumber.noReader && status.kind == .pipe ? .refused(.unreadPipe) : .system(error)
    }
    do throws(OutputProblem) {
      let opened = try OutputProblem.on { () throws(SystemError) in try FolderCall.status(of: descriptor) }
      guard opened.identity == status.identity, opened.kind == status.kind else { throw .refused(.nameTaken) }
      try OutputProblem.on { () throws(SystemError) in try FolderCall.wait(on: descriptor) }
      return descriptor
    } catch {
      SystemCall.close(descriptor)
      throw error
    }
  }

  private static func open(_ number: Int32, _ rules: OutputRules) throws(OutputProblem) -> Int32 {
    let status = try OutputProblem.on { () throws(SystemError) in try FolderCall.status(of: number) }
    try rules.check(status, isOpen: true)
    return try OutputProblem.on { () throws(SystemError) in try FolderCall.duplicate(number) }
  }
}
