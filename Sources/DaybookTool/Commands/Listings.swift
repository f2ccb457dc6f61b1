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
    options: [.zone, .json]
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      let counts = try invocation.selectedZones(database).flatMap { zone in
        try database.recordTypes(in: zone).map { (zone: zone, type: $0.type, count: $0.count) }
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
