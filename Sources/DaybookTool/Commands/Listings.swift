import Daybook

extension Commands {
  static let zones = Command(
    name: "zones", summary: "List the zones with the number of their records.", positionals: ["FILE"],
    options: [.json]
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      let zones = try database.zones()
      if invocation.arguments.has("--json") {
        try invocation.printArray(
          try zones.map { zone in
            [
              "name": .string(zone.id.name), "owner": .string(zone.id.owner),
              "recordCount": .count(try database.recordCount(in: zone.id)),
              "capabilities": .array(zone.capabilities.names.map { .string($0) }),
            ]
          })
        return .done
      }
      try invocation.printTable(
        ["ZONE", "RECORDS", "CAPABILITIES"],
        try zones.map { zone in
          [
            "\(zone.id)", Wording.count(try database.recordCount(in: zone.id)),
            zone.capabilities.names.joined(separator: ", "),
          ]
        }, numeric: [1])
      return .done
    }
  }

  static let types = Command(
    name: "types", summary: "List the record types with the number of their records.", positionals: ["FILE"],
    options: [
      .zone, .owner, .flag("--fields", "List the fields of each type and their kinds instead: the schema."), .json,
    ],
    details: """
      --fields lists what the database knows of its types, also of those without records; with --json in the form that an
      application gives to another database (Transaction.declare).
      """
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      if invocation.arguments.has("--fields") { return try listFields(database, invocation) }
      let snapshot = try database.snapshot()
      let counts = try invocation.selectedZones(database, snapshot).flatMap { zone in
        try snapshot.recordTypes(in: zone).map { (zone: zone, type: $0.type, count: $0.count) }
      }
      if invocation.arguments.has("--json") {
        try invocation.printArray(
          counts.map {
            ["type": .string($0.type), "zone": .string($0.zone.name), "recordCount": .count($0.count)]
          })
        return .done
      }
      try invocation.printTable(
        ["TYPE", "ZONE", "RECORDS"], counts.map { [$0.type, "\($0.zone)", Wording.count($0.count)] }, numeric: [2])
      return .done
    }
  }
}

extension Commands {
  private static func listFields(_ database: Database, _ invocation: Invocation) throws -> ExitStatus {
    let schema = try database.schema()
    if invocation.arguments.has("--json") {
      let types = schema.types.map { (type) -> JSONValue in
        var members: [JSONValue.Member] = [
          .init(key: "name", value: .string(type.name)),
          .init(
            key: "fields",
            value: .array(
              type.fields.map { field in
                .object([
                  .init(key: "key", value: .string(field.key)),
                  .init(key: "kinds", value: .array(field.kinds.map { .string($0.rawValue) })),
                  .init(key: "isEncrypted", value: .bool(field.isEncrypted)),
                ])
              })),
        ]
        if !type.indexes.isEmpty {
          let indexes = type.indexes.map { (index) -> JSONValue in
            ["key": .string(index.key), "kind": .string(index.kind.rawValue)]
          }
          members.append(.init(key: "indexes", value: .array(indexes)))
        }
        return JSONValue.object(members)
      }
      try invocation.output.line(JSONValue.object([.init(key: "types", value: .array(types))]).json)
      return .done
    }
    try invocation.printTable(
      ["TYPE", "KEY", "KINDS", "INDEXES"],
      schema.types.flatMap { type in
        let fields = type.fields.map { field in
          [
            type.name, field.key,
            field.kinds.map(\.rawValue).joined(separator: ", ") + (field.isEncrypted ? " (encrypted)" : ""),
            type.indexes.filter { $0.key == field.key }.map(\.kind.rawValue).joined(separator: ", "),
          ]
        }
        // An index may be there before the first record with its field.
        let others = type.indexes.filter { index in !type.fields.contains { $0.key == index.key } }
          .map { [type.name, $0.key, "", $0.kind.rawValue] }
        return fields.isEmpty && others.isEmpty ? [[type.name, "", "", ""]] : fields + others
      })
    return .done
  }
}

extension Zone.Capabilities {
  /// What the zone can do, by the names of the interface.
  var names: [String] {
    let all: [(Zone.Capabilities, String)] = [
      (.fetchChanges, "fetchChanges"), (.atomic, "atomic"), (.sharing, "sharing"),
      (.zoneWideSharing, "zoneWideSharing"),
    ]
    return all.filter { contains($0.0) }.map { $0.1 }
  }
}
