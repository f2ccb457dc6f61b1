/// The walk from a path to a name in an open folder, through links of this user and of root.
struct OutputWalk {
  enum End {
    case name(String, FolderDescriptor, NameStatus?)
    /// The path names a descriptor that is open already.
    case descriptor(Int32)
  }

  let end: End
  /// As many links as Linux follows in one path.
  private static let maximumLinkCount = 40

  /// - Parameter endsInFolder: whether the last name may be `.` or `..`.
  init(_ path: String, endsInFolder: Bool = false) throws(OutputProblem) {
    guard !path.isEmpty else { throw .system(SystemError(code: ErrorNumber.notFound)) }
    var path = path
    var folder: FolderDescriptor?
    for _ in 0..<Self.maximumLinkCount {
      if let number = Self.descriptor(named: path) {
        end = .descriptor(number)
        return
      }
      let holder = directory(holding: path)
      let name = String(path.utf8.dropFirst(path.utf8.contains(UInt8(ascii: "/")) ? Self.byteCount(ofHolder: holder) : 0)) ?? ""
      let next = try OutputProblem.on { () throws(SystemError) in
        FolderDescriptor(try FolderCall.openFolder(holder, in: folder?.number))
      }
      folder = next
      if name.isEmpty || name == "." || name == ".." {
        guard endsInFolder else { throw .refused(.folder) }
        end = try Self.inside(name.isEmpty ? "." : name, next)
        return
      }
      let status = try OutputProblem.on { () throws(SystemError) in try FolderCall.status(of: name, in: next.number) }
      guard status?.kind == .link, let owner = status?.owner else {
        end = .name(name, next, status)
        return
      }
      guard Self.isTrusted(owner) || isMutant("output-follows-any-link") else { throw .refused(.foreignLink) }
      path = try OutputProblem.on { () throws(SystemError) in try FolderCall.target(ofLink: name, in: next.number) }
      if Self.leadsIntoProcess(path, next) {
        if endsInFolder {
          end = try Self.inside(name, next)
          return
        }
        guard let number = Self.ownDescriptor(name, next) else { throw .refused(.otherKind) }
        end = .descriptor(number)
        return
      }
      if endsInFolder { path = Self.withoutEndingSlashes(path) }
    }
    throw .system(SystemError(code: ErrorNumber.tooManyLinks))
  }

  /// A folder, through a link that the system follows.
  private static func inside(_ name: String, _ folder: FolderDescriptor) throws(OutputProblem) -> End {
    let (inside, status) = try OutputProblem.on { () throws(SystemError) in
      let inside = FolderDescriptor(try FolderCall.openFolder(name, in: folder.number))
      return (inside, try FolderCall.status(of: inside.number))
    }
    return .name("", inside, status)
  }

  /// Whether a link is one of /proc that leads to what a process has open, not to its text: that is only what it was called when
  /// it was opened, and another file may be called so by now, or none. The other links there lead to names in /proc.
  static func leadsIntoProcess(_ text: String, _ folder: FolderDescriptor) -> Bool {
    guard text.utf8.first == UInt8(ascii: "/") || text.utf8.contains(UInt8(ascii: ":")) else { return false }
    return FolderCall.showsProcesses(folder.number) && !isMutant("follow-text-of-process")
  }

  /// The descriptor of this process that has the number and the file of such a link.
  private static func ownDescriptor(_ name: String, _ folder: FolderDescriptor) -> Int32? {
    guard let number = self.number(name), let own = try? FolderCall.status(of: number).identity,
      own == (try? SystemCall.status(in: folder.number, name, followingLink: true).identity)
    else { return nil }
    return number
  }

  /// This process's user, or root, who could do all that we can.
  static func isTrusted(_ owner: UInt32) -> Bool {
    owner == 0 || owner == SystemCall.effectiveUser && !UnknownNumbers.hasUser(owner)
  }

  static func withoutEndingSlashes(_ path: String) -> String {
    var bytes = Array(path.utf8)
    while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The bytes in front of the name: "/" ends in its slash already.
  private static func byteCount(ofHolder holder: String) -> Int { holder == "/" ? 1 : holder.utf8.count + 1 }

  private static func number(_ digits: some StringProtocol) -> Int32? {
    digits.utf8.count <= 9 && digits.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } ? Int32(digits) : nil
  }

  /// The descriptor that a path names. Opening such a path anew would give another position in the same file, and fail for a
  /// socket.
  private static func descriptor(named path: String) -> Int32? {
    switch path {
    case "/dev/stdout": return 1
    case "/dev/stderr": return 2
    default:
      for prefix in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(prefix) {
        if let number = number(path.dropFirst(prefix.count)) { return number }
      }
      return nil
    }
  }
}
