/// A record as `print`, `dump` and debuggers show it. Encrypted values are never shown, whether or not they could be opened.

extension Record: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Printed in place of an encrypted value.
  private static let hidden = "encrypted"
  /// Printed in place of a value whose bytes are damaged.
  private static let unreadable = "unreadable"

  /// Type, zone, name and values in one line: `Book Library/dune (pages: 412, title: "Dune")`. Encrypted values are hidden;
  /// long ones, and records of many keys, are cut.
  public var description: String {
    "\(heading) (\(shownFields().joined(separator: ", ")))"
  }

  /// The same as a small tree, a line for each key, with metadata and what was changed since the last save.
  public var debugDescription: String {
    var lines = [heading]
    lines.append("  " + (metadata?.description ?? "never saved"))
    if let parent { lines.append("  parent \(parent)") }
    lines += shownFields(changedKeys.union(encryptedValues.changedKeys)).map { "  " + $0 }
    for key in removedKeys.union(encryptedValues.removedKeys).sorted().prefix(Glimpse.keyLimit) {
      lines.append("  \(ShownText.escaped(key)) removed")
    }
    return lines.joined(separator: "\n")
  }

  /// Identity, metadata and values.
  public var customMirror: Mirror {
    var children: [(label: String?, value: Any)] = [("id", id), ("type", type), ("metadata", metadata as Any)]
    if let parent { children.append(("parent", parent)) }
    for (key, value) in fieldValues() { children.append((key, value as Any? ?? Self.unreadable)) }
    for key in encryptedValues.keys { children.append((key, Self.hidden)) }
    return Mirror(self, children: children, displayStyle: .struct)
  }

  private var heading: String { "\(ShownText.escaped(type)) \(ShownText.escaped(id.description))" }

  /// Keys with their values, in order, as many as are shown.
  /// - Parameter changed: keys that are marked.
  private func shownFields(_ changed: Set<String> = []) -> [String] {
    let (plain, encrypted) = (keys, encryptedValues.keys)
    var fields = plain.prefix(Glimpse.keyLimit).map { key in
      (key, (self[key] as Value?)?.description ?? Self.unreadable)
    }
    fields += encrypted.prefix(Glimpse.keyLimit - fields.count).map { ($0, Self.hidden) }
    var texts = fields.map { "\(ShownText.escaped($0.0)): \($0.1)\(changed.contains($0.0) ? " (changed)" : "")" }
    let hiddenCount = plain.count + encrypted.count - fields.count
    if hiddenCount > 0 { texts.append("… \(hiddenCount) more") }
    return texts
  }
}

extension Record.Fields: CustomStringConvertible, CustomReflectable {
  /// The keys; the values are hidden.
  public var description: String { "encrypted: \(keys.map(ShownText.escaped).joined(separator: ", "))" }

  /// The keys.
  public var customMirror: Mirror { Mirror(self, children: ["keys": keys], displayStyle: .struct) }
}

extension Record.Metadata: CustomStringConvertible {
  /// Change tag, when and by whom.
  public var description: String {
    var text = "tag \(ShownText.escaped(changeTag)), created \(Glimpse.date(creationDate))"
    if let creatorUserID { text += " by \(ShownText.escaped(creatorUserID))" }
    text += ", modified \(Glimpse.date(modificationDate))"
    if let lastModifiedUserID { text += " by \(ShownText.escaped(lastModifiedUserID))" }
    if let modifiedByDevice { text += " on \(ShownText.escaped(modifiedByDevice))" }
    return text
  }
}
