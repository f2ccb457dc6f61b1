import DaybookEngine

/// The identifier of a container and the names of its files.
///
///     iCloud.com.example.Notes.private.daybook     one file for each database, side by side in one directory
///     iCloud.com.example.Notes.public.daybook
///     iCloud.com.example.Notes.shared.daybook
///     iCloud.com.example.Notes.account.json        who the user is, see `ContainerAccount`
enum ContainerName {
  /// Room for the endings of files that are being made.
  static let maximumByteCount = 200

  /// Reverse DNS: at least two labels of letters, digits and inner hyphens, divided by full stops; the first begins with
  /// a letter.
  static func fault(_ id: String) -> DatabaseError? {
    let labels = id.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let isSound =
      labels.count >= 2 && id.utf8.count <= maximumByteCount && labels.allSatisfy(isLabel)
      && labels[0].first.map(isLetter) == true
    if isSound { return nil }
    return DatabaseError(
      .badContainer, "The identifier of a container is a name in reverse DNS, like iCloud.com.example.Notes.",
      facts: .init(name: id, limit: maximumByteCount))
  }

  private static func isLabel(_ label: Substring.UTF8View.SubSequence) -> Bool {
    guard let first = label.first, let last = label.last, label.count <= 63 else { return false }
    let hyphen = UInt8(ascii: "-")
    return first != hyphen && last != hyphen
      && label.allSatisfy { isLetter($0) || ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")) || $0 == hyphen }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
  }

  static func path(of scope: DatabaseScope, _ id: String, in directory: String) -> String {
    "\(directory)/\(id).\(scope.rawValue).daybook"
  }

  static func accountPath(_ id: String, in directory: String) -> String { "\(directory)/\(id).account.json" }
}
