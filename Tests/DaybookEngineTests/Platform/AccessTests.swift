import DaybookTesting
import Foundation
import Testing

@testable import DaybookEngine

// Who may do what with a file, by its mode and its list together.

@Suite("rights of users")
struct AccessTests {
  /// A list as the system keeps it: entries by tag and number, then the mask and all others.
  static func list(_ entries: [(tag: UInt8, rights: UInt8, number: UInt32)], mode: UInt32) -> [UInt8] {
    var list: [UInt8] = [2, 0, 0, 0]
    func add(_ tag: UInt8, _ rights: UInt8, _ number: UInt32) {
      list += [tag, 0, rights, 0]
      for shift in [0, 8, 16, 24] as [UInt32] { list.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
    add(1, UInt8(mode >> 6 & 7), .max)
    for entry in entries { add(entry.tag, entry.rights, entry.number) }
    add(16, UInt8(mode >> 3 & 7), .max)
    add(32, UInt8(mode & 7), .max)
    return list
  }

  static func file(
    _ mode: UInt32, owner: UInt32 = 1, group: UInt32 = 50, _ entries: [(tag: UInt8, rights: UInt8, number: UInt32)]? = nil
  ) -> FileAttributes {
    let lists = entries.map { [AccessList.posixName: list($0, mode: mode)] } ?? [:]
    return FileAttributes(mode: mode, owner: owner, group: group, extended: lists)
  }

  /// What one user may do, as the manual page of lists says it.
  private func rights(_ user: UInt32, in groups: Set<UInt32>, _ file: FileAttributes) -> UInt32 {
    if user == file.owner { return file.mode >> 6 & 7 }
    guard let list = file.extended[AccessList.posixName] else {
      return groups.contains(file.group) ? file.mode >> 3 & 7 : file.mode & 7
    }
    var entries: [(tag: UInt8, rights: UInt32, number: UInt32)] = []
    for index in stride(from: 4, to: list.count, by: 8) {
      var number: UInt32 = 0
      for byte in list[index + 4..<index + 8].reversed() { number = number << 8 | UInt32(byte) }
      entries.append((list[index], UInt32(list[index + 2]), number))
    }
    let mask = file.mode >> 3 & 7
    if let own = entries.first(where: { $0.tag == 2 && $0.number == user }) { return own.rights & mask }
    var found: UInt32?
    for entry in entries {
      let isMember = entry.tag == 4 ? groups.contains(file.group) : entry.tag == 8 && groups.contains(entry.number)
      if isMember { found = (found ?? 0) | entry.rights & mask }
    }
    return found ?? file.mode & 7
  }

  @Test("no user, whatever groups he is in, has more on a narrowed file than on it before or on the other one")
  func narrowed() throws {
    var random = SeededGenerator(seed: 8812)
    func draw() -> FileAttributes {
      func rights() -> UInt8 { UInt8.random(in: 0...7, using: &random) }
      let mode = UInt32.random(in: 0...0o777, using: &random)
      let group: UInt32 = Bool.random(using: &random) ? 50 : 51
      let owner: UInt32 = Bool.random(using: &random) ? 1 : 2
      guard Bool.random(using: &random) else { return Self.file(mode, owner: owner, group: group) }
      var entries: [(tag: UInt8, rights: UInt8, number: UInt32)] = []
      for user in UInt32(2)...4 where Bool.random(using: &random) { entries.append((2, rights(), user)) }
      entries.append((4, rights(), .max))
      for named in UInt32(50)...52 where Bool.random(using: &random) { entries.append((8, rights(), named)) }
      return Self.file(mode, owner: owner, group: group, entries)
    }
    var unchanged = 0
    for _ in 0..<20_000 {
      let (file, others) = (draw(), draw())
      let narrowed = file.narrowed(to: others)
      if narrowed == nil { unchanged += 1 }
      let result = narrowed ?? file
      #expect(result.narrowed(to: others) == nil)
      for user in UInt32(1)...5 where user != file.owner && user != others.owner {
        for groups in [[], [50], [51], [52], [50, 51], [50, 52], [51, 52], [50, 51, 52]] as [Set<UInt32>] {
          let (has, may) = (rights(user, in: groups, result), rights(user, in: groups, others))
          #expect(has & ~may == 0, "\(user) in \(groups): \(file) to \(others) is \(result)")
          let had = rights(user, in: groups, file)
          #expect(has & ~had == 0, "\(user) in \(groups) has gained: \(file) to \(others) is \(result)")
        }
      }
    }
    #expect(unchanged > 100)
  }

  @Test("a file keeps what the other one gives: a list that is contained, or that shuts out more, stays")
  func kept() {
    let reader: (tag: UInt8, rights: UInt8, number: UInt32) = (2, 4, 7)
    let group: (tag: UInt8, rights: UInt8, number: UInt32) = (4, 4, .max)
    #expect(Self.file(0o440, [reader, group]).narrowed(to: Self.file(0o640, [reader, group])) == nil)
    #expect(Self.file(0o440, [(2, 0, 7), group]).narrowed(to: Self.file(0o644)) == nil)
    // Only the mode is too wide: whom the list shuts out stays out.
    let narrowed = Self.file(0o646, [(2, 0, 7), (4, 4, .max)]).narrowed(to: Self.file(0o644))
    #expect(narrowed.map { rights(7, in: [50], $0) } == 0)
  }

  @Test("a user whom the database's list shuts out is shut out of what was made before, and so is a group that lost its right")
  func shutOut() {
    let denying = Self.file(0o644, [(2, 0, 7), (4, 4, .max)])
    #expect(Self.file(0o444).narrowed(to: denying.ofContent) == denying.ofContent)
    #expect(Self.file(0o755).narrowed(to: denying.ofDirectory) == denying.ofDirectory)
    // The mode still says that the group may read: that is the mask.
    let taken = Self.file(0o640, [(2, 4, 7), (4, 0, .max)])
    #expect(Self.file(0o440).narrowed(to: taken.ofContent).map { rights(9, in: [50], $0) } == 0)
  }

  @Test("where a list lets one more user write, no member of the group passes for a writer, and nobody whom it refuses")
  func writers() {
    let shared = Self.file(0o660, [(2, 6, 7), (4, 4, .max)])
    for owners in [FileOwners.ofWriters(of: shared), .trusted(with: shared), .ofWriters(of: shared).orOfSecondNames] {
      #expect(!owners.contains(9, group: 50) && owners.contains(7, group: 51) && owners.contains(1, group: 51))
    }
    let refusing = Self.file(0o660, [(2, 0, 7), (4, 6, .max)])
    #expect(FileOwners.trusted(with: refusing).contains(9, group: 50))
    #expect(!FileOwners.trusted(with: refusing).contains(7, group: 50))
    #expect(!FileOwners.ofWriters(of: Self.file(0o666, [(2, 0, 7), (4, 6, .max)])).contains(7, group: 50))
    // A list that cannot be read says nothing of the group.
    var unreadable = Self.file(0o660)
    unreadable.extended[AccessList.posixName] = [3, 0, 0, 0]
    #expect(!FileOwners.trusted(with: unreadable).contains(9, group: 50))
  }

  @Test("a map of a namespace is whole if it names every user")
  func maps() {
    func isWhole(_ text: String) -> Bool { UnknownNumbers.isWhole(Array(text.utf8)) }
    #expect(isWhole("         0          0 4294967295\n"))
    #expect(isWhole("0 0 65536\n65536 65536 4294901759\n"))
    for partial in [
      "", "1000 1000 1\n", "0 1000 1\n1 100000 65536\n", "0 0 4294967294\n", "0 0\n", "0 0 99999999999999999999 1\n",
    ] {
      #expect(!isWhole(partial), "\(partial)")
    }
  }

  #if os(Linux)
    /// A process that enters a namespace without a map: all users and groups look like one there.
    @Test("in a user namespace no stranger passes for the database's group or owner")
    func namespace() async {
      await #expect(processExitsWith: .success) {
        guard geteuid() == 0, let symbol = unsafe dlsym(nil, "unshare") else { return }
        // Safe: the manual page has the function with exactly this type.
        let unshare = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
        try withDirectory { directory in
          try SystemDisk().makeDirectory(directory + "/book.assets")
          for (name, user, group) in [("", 4711, 4711), ("/book", 4711, 50), ("/book.assets", 4712, 4712)]
            as [(String, UInt32, UInt32)]
          {
            if name == "/book" { try SystemDisk().open(directory + name, .createNew).close() }
            #expect(unsafe chown(directory + name, user, group) == 0 && chmod(directory + name, 0o777) == 0)
          }
          #expect(unsafe chmod(directory + "/book", 0o660) == 0)
          func trusts(inNamespace: Bool) -> Int32 {
            inChild {
              guard setgid(4711) == 0, setuid(4711) == 0 else { return 1 }
              // Where the system refuses namespaces, there is nothing to see.
              if inNamespace, unshare(0x1000_0000) != 0 { return 3 }
              guard let folder = try? SystemDisk().folder(at: directory + "/book.assets"),
                let book = try? SystemDisk().attributes(of: directory + "/book")
              else { return 2 }
              return (try? folder.requireOwner(among: .trusted(with: book))) == nil ? 3 : 4
            }
          }
          #expect(trusts(inNamespace: false) >> 8 == 3)
          #expect(trusts(inNamespace: true) >> 8 == 3)
          // Outside, the number is that of a user as any other.
          #expect(!UnknownNumbers.hasUser(65_534) && !UnknownNumbers.hasGroup(65_534))
        }
      }
    }
  #endif
}
