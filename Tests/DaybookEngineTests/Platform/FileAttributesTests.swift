import Foundation
import Testing

@testable import DaybookEngine

@Suite("Rights, owners and attributes of files", .serialized)
struct FileAttributesTests {
  @Test("a file made like another has its rights, owner and attributes before it has a byte", arguments: DiskKind.allCases)
  func attributes(kind: DiskKind) throws {
    try kind.use { disk, directory in
      _ = try disk.open(directory + "/a", .createNew)
      var wanted = try disk.attributes(of: directory + "/a")
      wanted.mode = 0o640
      wanted.extended["user.color"] = Array("red".utf8)
      // The owner may read and write, user 4711 may read, its group nothing; the mask is what the mode shows as the group's.
      let nobody: [UInt8] = [0xff, 0xff, 0xff, 0xff]
      wanted.extended[AccessList.posixName] =
        [2, 0, 0, 0] + [1, 0, 6, 0] + nobody + [2, 0, 4, 0, 0x67, 0x12, 0, 0] + [4, 0, 0, 0] + nobody
        + [16, 0, 4, 0] + nobody + [32, 0, 0, 0] + nobody
      // Only a superuser gives files away.
      if kind != .system || geteuid() == 0 { (wanted.owner, wanted.group) = (4712, 4713) }
      try disk.setAttributes(wanted, of: directory + "/a")
      let given = try disk.attributes(of: directory + "/a")
      // A volume that knows no lists, or no attributes, has kept the rest.
      for (name, value) in given.extended where wanted.extended[name] != nil { #expect(value == wanted.extended[name]) }
      let hasList = given.extended[AccessList.posixName] != nil
      #expect(given.mode == (hasList ? 0o640 : 0o600))
      #expect(given.owner == wanted.owner && given.group == wanted.group)

      let copy = try disk.create(directory + "/b", like: given)
      #expect(try copy.byteCount() == 0 && copy.attributes() == given)
      #expect(throws: DiskFailure.self) { try disk.create(directory + "/b", like: given) }
      #expect(try disk.createPrivate(directory + "/c", byteCount: 100).attributes().mode == 0o600)
      try disk.makeDirectory(directory + "/d", like: given.ofDirectory)
      #expect(try disk.attributes(of: directory + "/d").mode == (hasList ? 0o750 : 0o700))
      #expect(throws: DiskFailure.self) { try disk.makeDirectory(directory + "/d", like: given) }
      try disk.rename(directory + "/d", to: directory + "/e")
      #expect(try disk.attributes(of: directory + "/e").owner == given.owner)
      #expect(try disk.create(directory + "/f", like: given.readOnly).attributes().mode & 0o222 == 0)
      #expect(throws: DiskFailure.self) { try disk.attributes(of: directory + "/none") }
      #expect(throws: DiskFailure.self) { try disk.setAttributes(given, of: directory + "/none") }
    }
  }

  @Test("a copy that may not have the owner, group or list of its original is for fewer people, never for more")
  func narrowedAttributes() throws {
    let list = [AccessList.posixName: [UInt8](repeating: 0, count: 4)]
    for mode in UInt32(0)...0o777 {
      for keeps in 0..<8 {
        let (keepsOwner, keepsGroup, keepsLists) = (keeps & 1 != 0, keeps & 2 != 0, keeps & 4 != 0)
        for extended in [[:], list] {
          let original = FileAttributes(mode: mode, owner: 1, group: 1, extended: extended)
          let copy = original.ofCopy(keepsOwner: keepsOwner, keepsGroup: keepsGroup, keepsLists: keepsLists)
          let (user, group, others) = (mode >> 6, mode >> 3 & 7, mode & 7)
          // Who is in the group or among the others of the copy may have been in either of the original, or its owner.
          var groupAtMost = group
          var othersAtMost = others
          if !keepsGroup { (groupAtMost, othersAtMost) = (group & others, group & others) }
          if !keepsOwner { (groupAtMost, othersAtMost) = (groupAtMost & user, othersAtMost & user) }
          if !extended.isEmpty && !(keepsLists && keepsGroup) { (groupAtMost, othersAtMost) = (0, 0) }
          #expect(copy.mode == user << 6 | groupAtMost << 3 | othersAtMost)
          #expect(copy.extended == (keepsLists && keepsGroup ? extended : [:]))
        }
      }
    }
  }

  @Test("a list gives no user more than the mode that is set after it, not for a moment")
  func listBeforeMode() {
    for mode in UInt32(0)...0o777 {
      let (owner, group, others) = (UInt8(mode >> 6), UInt8(mode >> 3 & 7), UInt8(mode & 7))
      let wide = AccessTests.list([(2, 6, 7), (4, 4, .max), (8, 7, 9)], mode: 0o777)
      let limited = AccessTests.list([(2, 6, 7), (4, 4, .max), (8, 7, 9)], mode: mode)
      #expect(AccessList.limited(wide, to: mode) == limited)
      // Without a mask the digit is the owning group's.
      func bare(_ rights: [UInt8]) -> [UInt8] {
        [2, 0, 0, 0] + zip([1, 4, 32] as [UInt8], rights).flatMap { [$0, 0, $1, 0, 0xff, 0xff, 0xff, 0xff] }
      }
      #expect(AccessList.limited(bare([7, 7, 7]), to: mode) == bare([owner, group, others]))
    }
    #expect(AccessList.limited([3, 0, 0, 0, 1], to: 0) == [3, 0, 0, 0, 1])
  }

  @Test("what is narrowed to another file loses each right that this one does not give, and a list that cannot be read")
  func narrowedToAnother() throws {
    let name = AccessList.posixName
    func posix(_ rights: UInt8) -> [UInt8] { [2, 0, 0, 0] + [2, 0, rights, 0, 0x67, 0x12, 0, 0] }
    func file(_ list: [UInt8]?, mode: UInt32 = 0o640, group: UInt32 = 1) -> FileAttributes {
      FileAttributes(mode: mode, owner: 1, group: group, extended: list.map { [name: $0] } ?? [:])
    }
    #expect(file(posix(4)).narrowed(to: file(posix(6))) == nil)
    #expect(file(posix(6)).narrowed(to: file(posix(4))) == file(posix(4)))
    #expect(file(posix(4)).narrowed(to: file(nil)) == file(nil))
    // Of another version, cut off, or of an application of the future: only an equal one gives no more.
    for unreadable: [UInt8] in [[3, 0, 0, 0] + posix(4).dropFirst(4), Array(posix(4).dropLast()), [2], []] {
      #expect(file(unreadable).narrowed(to: file(unreadable)) == nil)
      // It is not known whom either shuts out: only the owner is left.
      #expect(file(unreadable).narrowed(to: file(posix(6))) == file(nil, mode: 0o600))
      #expect(file(posix(4)).narrowed(to: file(unreadable)) == file(nil, mode: 0o600))
      #expect(file(unreadable).narrowed(to: file(nil)) == file(nil, mode: 0o600))
    }
    // Members of another group are others there, and bits that are no rights stay.
    #expect(file(nil, mode: 0o2664).narrowed(to: file(nil, mode: 0o664, group: 2)) == file(nil, mode: 0o2644))
  }
}
