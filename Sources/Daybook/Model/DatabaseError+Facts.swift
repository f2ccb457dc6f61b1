/// The facts beside an error's sentence, and how they read on one line.

extension DatabaseError {
  /// What differed this time. Each fact is there only when it says something; values of a record never are.
  public struct Facts: Sendable, Hashable, CustomStringConvertible {
    /// The file, as its path was given.
    public var path: String?
    /// The position in the file or in the bytes, in bytes.
    public var offset: Int?
    /// The commit sequence.
    public var sequence: UInt64?
    /// The zone.
    public var zone: Zone.ID?
    /// The name of a record, or of whatever was named.
    public var name: String?
    /// The record type.
    public var recordType: String?
    /// The field's key.
    public var key: String?
    /// How large or how many it was: bytes or items, as the sentence says.
    public var size: Int?
    /// How large or how many it may be.
    public var limit: Int?
    /// The record that points at another one.
    public var source: Record.ID?
    /// The record that is pointed at.
    public var target: Record.ID?
    /// The line of an input, counted from 1.
    public var line: Int?
    /// What should have been there: a kind, a version, a checksum.
    public var expected: String?
    /// What was there.
    public var found: String?

    /// Facts, all of them optional.
    public init(
      path: String? = nil, offset: Int? = nil, sequence: UInt64? = nil, zone: Zone.ID? = nil, name: String? = nil,
      recordType: String? = nil, key: String? = nil, size: Int? = nil, limit: Int? = nil, line: Int? = nil,
      expected: String? = nil, found: String? = nil, source: Record.ID? = nil, target: Record.ID? = nil
    ) {
      self.path = path
      self.offset = offset
      self.sequence = sequence
      self.zone = zone
      self.name = name
      self.recordType = recordType
      self.key = key
      self.size = size
      self.limit = limit
      self.line = line
      self.expected = expected
      self.found = found
      self.source = source
      self.target = target
    }

    /// The facts that are there, as `name: value` with commas between them, on one line: what a name could do to a terminal
    /// is escaped.
    public var description: String {
      var parts: [String] = []
      func add(_ label: String, _ fact: (some CustomStringConvertible)?) {
        if let fact { parts.append("\(label): \(fact)") }
      }
      add("path", path)
      add("offset", offset)
      add("sequence", sequence)
      add("zone", zone)
      add("name", name)
      add("record type", recordType)
      add("key", key)
      add("size", size)
      add("limit", limit)
      add("line", line)
      add("expected", expected)
      add("found", found)
      add("source", source)
      add("target", target)
      return ShownText.escaped(parts.joined(separator: ", "))
    }
  }
}
