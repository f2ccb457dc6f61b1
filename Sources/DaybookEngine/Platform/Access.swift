/// What each class of users may do with a file, read from its mode and its access control list together.
///
///     who, the first that fits        what he may do
///     its owner                       the first digit of the mode
///     a user whom the list names      his entry, and the mask
///     a member of a group             what one of his groups may: the owning group, or one that the list names; and the mask
///     all others                      the last digit of the mode
///
/// The second digit of the mode is what the owning group may do, and where there is a POSIX list, the mask: the owning group's
/// rights are in the list then. So a list also takes: `u:mallory:---` shuts out whom the last digit lets in.
///
/// Of a list that cannot be read (Apple's, one of another version) only an equal one is known to give no more: it forbids.
struct Access {
  private let owner: UInt32
  private let ofOwner: UInt8
  private let ofOthers: UInt8
  private let named: [UInt32: UInt8]
  /// The owning group and those that the list names. Nil is an owning group that cannot be known: it is no other one.
  private let groups: [UInt32?: UInt8]
  private let ofOwningGroup: UInt8
  /// Of lists that a volume makes of the mode by itself (NFSv4) the mode is asked.
  private let isReadable: Bool
  /// Lists that only an equal one contains.
  private let unread: [String: [UInt8]]

  /// - Parameter ignoresMask: what the list would give with the widest mask, which a change of the mode sets.
  init(_ attributes: FileAttributes, ignoresMask: Bool = false) {
    owner = attributes.owner
    ofOwner = UInt8(attributes.mode >> 6 & 7)
    ofOthers = UInt8(attributes.mode & 7)
    var unread = attributes.extended.filter { AccessList.isName($0.key) && $0.key != AccessList.posixDefaultName }
    let mask = ignoresMask && unread[AccessList.posixName] != nil ? 7 : UInt8(attributes.mode >> 3 & 7)
    let list = unread[AccessList.posixName].flatMap { AccessList.entries($0) }
    if list != nil || mask == 0 && ofOthers == 0 { unread[AccessList.posixName] = nil }
    self.unread = unread
    isReadable = AccessList.ofFiles.allSatisfy { unread[$0] == nil }
    var named: [UInt32: UInt8] = [:]
    var groups: [UInt32?: UInt8] = [:]
    ofOwningGroup = (isMutant("mask-is-group") ? 7 : list?.owningGroup ?? 7) & mask
    groups[UnknownNumbers.hasGroup(attributes.group) ? nil : attributes.group] = ofOwningGroup
    // The owner is never asked for by his number.
    for (user, rights) in list?.users ?? [:] where user != attributes.owner { named[user] = rights & mask }
    // Who is in two of them has what either gives.
    for (group, rights) in list?.groups ?? [:] { groups[group, default: 0] |= rights & mask }
    self.named = named
    self.groups = groups
  }

  /// Whether no user may do anything here that he may not do there. Of the owners only what the modes say is compared: an owner can
  /// give himself every right.
  func isContained(in other: Access) -> Bool {
    guard ofOwner & ~other.ofOwner == 0 else { return false }
    let mostHere = groups.values.reduce(ofOthers, |)
    if unread.isEmpty, named.values.reduce(mostHere, |) == 0 { return true }
    guard unread == other.unread else { return false }
    // Who is in a group there that has no entry here, or in none, is one of the others here; and the other way round.
    let leastThere = other.groups.values.reduce(other.ofOthers, &)
    var isLess = ofOthers & ~other.ofOthers == 0
    for (group, rights) in groups where rights & ~(group.flatMap { other.groups[$0] } ?? leastThere) != 0 { isLess = false }
    for (group, rights) in other.groups where group.flatMap({ groups[$0] }) == nil && ofOthers & ~rights != 0 { isLess = false }
    for (user, rights) in named {
      let there = other.named[user] ?? leastThere
      if user != other.owner, rights & ~there != 0 { isLess = false }
    }
    for (user, rights) in other.named where user != owner && named[user] == nil && mostHere & ~rights != 0 { isLess = false }
    return isLess
  }

  /// The owning group's rights, as a digit of a mode without a list.
  var owningGroup: UInt32 { UInt32(ofOwningGroup) }

  /// Whether every member of the owning group may write, but for those whom the list names.
  var groupMayWrite: Bool { isReadable && ofOwningGroup & 2 != 0 }

  /// Whether all users may write, whatever groups he is in, but for those whom the list names.
  var everybodyMayWrite: Bool { isReadable && groups.values.reduce(ofOthers, &) & 2 != 0 }

  /// The users whom the list names, by whether they may write.
  func namedUsers(whoMayWrite: Bool) -> Set<UInt32> {
    isReadable ? Set(named.filter { ($0.value & 2 != 0) == whoMayWrite }.keys) : []
  }
}
