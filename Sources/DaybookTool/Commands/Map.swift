import Daybook
import DaybookEngine

extension Commands {
  static let map = Command(
    name: "map", summary: "Tell what the file is made of, from its first byte to its last, or draw it.", positionals: ["FILE"],
    options: [.value("-o", "OUT.svg", "Draw it into a file as SVG."), .json],
    details: """
      A kind is that of a frame (`daybook log`), header, unreadable (bytes between two frames that are none), or prepared (what
      comes after the last frame, for the next commits). The picture shows in addition which bytes live: newest versions of
      records, and pages that the trees reach. The rest goes with a compaction.
      --json also has the pieces of the picture, each with its bytes by kind and how many of them live.
      OUT.svg is written as the OUT of `daybook export --force`: it replaces a file of that name, but no database. - is standard
      output; nothing else is printed then.
      """
  ) { invocation in
    try invocation.reading(invocation.arguments[0]) { database in
      let map = try database.fileMap(blockLimit: MapDrawing.blockLimit)
      if try invocation.draws("a map", of: database, { MapDrawing.svg(map, title: database.path) }) {
        return try invocation.status(of: map)
      }
      if invocation.arguments.has("--json") {
        try invocation.output.line(json(map).json)
      } else {
        let total = max(1, map.fileByteCount)
        try invocation.printTable(
          ["KIND", "FRAMES", "BYTES", "SHARE"],
          map.kinds.map { kind in
            let share = Double(kind.byteCount) / Double(total) * 100
            return [
              kind.name, kind.frameCount > 0 ? Wording.count(kind.frameCount) : "", Wording.count(kind.byteCount),
              "\(Int(share.rounded())) %",
            ]
          }, numeric: [1, 2, 3])
        if map.liveFault == nil {
          let live = map.blocks.reduce(0) { $0 + $1.liveByteCount }
          try invocation.output.line("\(Wording.bytes(map.fileByteCount)), \(Wording.bytes(live)) of it live")
        }
      }
      return try invocation.status(of: map)
    }
  }

  private static func json(_ map: Database.FileMap) -> JSONValue {
    func members(_ byteCounts: [Int]) -> JSONValue {
      .object(
        zip(map.kinds, byteCounts).filter { $0.1 > 0 }.map { .init(key: $0.0.name, value: .count($0.1)) })
    }
    return [
      "fileByteCount": .count(map.fileByteCount), "blockByteCount": .count(map.blockByteCount),
      "kinds": .array(
        map.kinds.map {
          ["kind": .string($0.name), "frameCount": .count($0.frameCount), "byteCount": .count($0.byteCount)]
        }),
      "blocks": .array(
        map.blocks.enumerated().map { (index, block) in
          [
            "offset": .count(index * map.blockByteCount), "byteCounts": members(block.byteCounts),
            "liveByteCount": map.liveFault == nil ? .count(block.liveByteCount) : .null,
          ]
        }),
    ]
  }
}

extension Invocation {
  /// Writes a picture into the file that `-o` names.
  /// - Parameter what: what the message calls it.
  /// - Returns: whether that is all there is to print: the picture went to standard output.
  func draws(_ what: String, of database: Database, _ picture: () throws -> String) throws -> Bool {
    guard let path = arguments.value("-o") else { return false }
    let drawing = try picture()
    if path.isWord("-") {
      try output.write(drawing)
      return true
    }
    let file = try Output.named(path, database.outputRules())
    try file.write(drawing)
    try file.finish()
    try note("drew \(what) into \(path)")
    return false
  }

  /// Says what a map does not know, and what of the file is no frame.
  /// - Parameter fault: what else went wrong.
  func status(of map: Database.FileMap, _ fault: DatabaseError? = nil) throws -> ExitStatus {
    try output.flush()
    if let fault = map.liveFault ?? fault { throw ToolError(fault) }
    guard let unreadable = map.kinds.first(where: { $0.name == Database.FileMap.unreadable }) else { return .done }
    try note(
      "daybook: \(Wording.bytes(unreadable.byteCount)) between frames cannot be read; `daybook check FILE` says what is lost.")
    return .damaged
  }
}
