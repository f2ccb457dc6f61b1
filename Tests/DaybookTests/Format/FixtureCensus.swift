import Testing

@testable import Daybook
@testable import DaybookEngine

/// Counts which kinds of things files have: frames, operations, forms of bodies, kinds of values, pages, trees and their entries.
///
/// Each kind is a line of text, as "frame commit" or "packed: sealed string". What all kinds are is in `FixtureKinds`, which takes it from
/// the enumerations of the sources.
struct FixtureCensus {
  struct Surprise: Error {
    let what: String
  }

  private(set) var found: Set<String> = []
  /// Of the file that is being read: what bodies name by numbers.
  private var shapes = ShapeDictionary()
  private let spelled = ByteBuffer(capacity: 1024)

  mutating func note(_ kind: String) { found.insert(kind) }
  mutating func forget(_ kind: String) { found.remove(kind) }

  mutating func count(_ file: [UInt8]) throws {
    shapes = ShapeDictionary()
    try file.withView { (view: ByteView) throws in
      let page = view.prefix(FileHeader.byteCount)
      let header = try FileHeader(page)
      note("first page: \(ClosedLength.read(page, salt: header.salt) == nil ? "never closed" : "closed length")")
      note("first page: \((FileHeader.firstLeastByteCount(page) ?? 0) == 0 ? "filled under its own name" : "least length")")
      if UnfinishedMark.read(page) != 0 { note("first page: made by a \(UnfinishedMark.maker(page))") }
      let log = LogReader(view, salt: header.salt)
      var offset = UInt64(FileHeader.byteCount)
      while let frame = log.header(at: offset) {
        guard let payload = log.payload(of: frame) else { throw Surprise(what: "a frame at \(offset) is cut") }
        try count(frame, payload, of: view)
        offset = frame.next
      }
      guard !log.hasContent(in: min(offset, log.end)..<log.end) else { throw Surprise(what: "no frame at \(offset)") }
    }
  }

  private mutating func count(_ frame: FrameHeader, _ payload: ByteView, of file: ByteView) throws {
    note(FixtureCensus.name(of: frame.kind))
    if frame.hasParts { note("frame flag: parts") }
    if frame.fillsSectors { note("frame flag: fills sectors") }
    if frame.isImage { note("frame flag: image") }
    switch frame.kind {
    case .commit, .part, .declarations:
      try countOperations(payload.dropFirst(frame.hasParts ? PartList.encodedByteCount : 0))
    case .pages:
      let first = (Int(frame.payloadOffset) + Page.byteCount - 1) & ~(Page.byteCount - 1)
      for start in stride(from: first, to: Int(frame.end), by: Page.byteCount) {
        note("page of kind \(file[start + 8])")
      }
    case .checkpoint:
      guard let checkpoint = CheckpointContents(payload, at: frame.offset) else { throw Surprise(what: "no checkpoint") }
      for (index, root) in checkpoint.roots.enumerated() where root.reference != 0 {
        note("tree of the file \(index)")
        countTree(root.reference, .file(index), file)
      }
    case .note: note(payload.isEmpty ? "note" : "note of a damaged page")
    case .closed, .superseded, .later: break
    }
  }

  static func name(of kind: FrameHeader.Kind) -> String {
    if case .later = kind { return "frame of a later version" }
    return "frame \(kind.name)"
  }

  // MARK: operations

  private mutating func countOperations(_ payload: ByteView) throws {
    var position = 0
    while position < payload.count {
      guard let head = Operation.Head(payload.dropFirst(position)), position + head.byteCount <= payload.count else {
        throw Surprise(what: "no operation at \(position)")
      }
      let operation = payload.slice(position..<position + head.byteCount)
      note("operation with a header of \(Operation.headerByteCount(ofOperation: head.byteCount)) bytes")
      try countOperation(head.kind, Operation.payload(operation))
      position += head.byteCount
    }
  }

  private mutating func countOperation(_ number: UInt8, _ payload: ByteView) throws {
    if number == Operation.rollbackKind { return note("operation forget") }
    guard let kind = OperationKind(rawValue: number) else { return note("operation of a later version") }
    note("operation \(kind)")
    switch kind {
    case .saveRecord: try countBody(payload)
    case .deleteRecord:
      note("tombstone: \(payload[1] & 1 != 0 ? "with" : "without") a user")
      note("tombstone: \(payload.uint32(at: 30) == 0 ? "without" : "with") a link")
      note("tombstone: \(payload.uint16(at: 2) == RecordBody.defaultZoneMark ? "default zone" : "zone")")
    case .declare:
      note("declaration of kind \(payload[0])")
      guard Declaration.isSound(payload), shapes.add(payload) else { throw Surprise(what: "no declaration") }
    case .deleteZone: note("zone deleted for reason \(payload[0])")
    case .imageZone: note("image of a zone \(payload[12] == 1 ? "that was deleted" : "that is there")")
    case .defineIndex: note("index of kind \(payload[2])")
    case .buildIndex: note(payload.count > 14 ? "part of an index" : "end of an index")
    case .requires: note("requires \(payload.uint64(at: 0) | payload.uint64(at: 8) == 0 ? "nothing" : "a feature")")
    case .commitInfo: note("commit \(payload.count > 8 ? "with" : "without") an origin")
    case .lineage, .saveZone, .setMetadata, .deleteMetadata, .raiseHorizon, .imageStamps, .declareFields, .dropIndex: break
    }
  }

  // MARK: bodies

  private mutating func countBody(_ body: ByteView) throws {
    guard PackedBody.isPacked(body) else { return try countFields(of: body, "spelled") }
    let form = body[2]
    note("packed: zone \(form & PackedBody.Form.zone)")
    note("packed: name \((form & PackedBody.Form.name) >> PackedBody.Form.nameShift)")
    for (bit, name) in FixtureKinds.formBits {
      if bit == PackedBody.Form.numbers, body[1] & FixtureKinds.userFlags == 0 { continue }
      note("packed: \(form & bit != 0 ? "" : "no ")\(name)")
    }
    try countFields(of: try shapes.spelled(body, in: spelled), "packed")
  }

  private mutating func countFields(of body: ByteView, _ form: String) throws {
    for (bit, name) in FixtureKinds.flagBits { note("\(form): \(body[1] & bit != 0 ? "" : "no ")\(name)") }
    note("\(form): \(body.uint16(at: 2) == RecordBody.defaultZoneMark ? "default zone" : "zone")")
    var cursor = FieldCursor(body, try RecordBody.layout(of: body))
    var lengths: [Int] = []
    var fieldCount = 0
    while let field = cursor.next() {
      fieldCount += 1
      guard let kind = field.mark.kind else { throw Surprise(what: "no kind of field") }
      note("\(form): \(field.mark.isSealed ? "sealed" : field.mark.isEncrypted ? "encrypted" : "plain") \(kind.name)")
      if !field.mark.isSealed { countValue(kind, field.value) }
      if !field.mark.isOfEightBytes { lengths.append(field.value.count) }
    }
    note("\(form): fields: \(fieldCount == 0 ? "none" : lengths.isEmpty ? "of eight bytes only" : "of any length")")
    guard form == "packed", let last = lengths.popLast() else { return }
    for length in lengths { note("packed: a length of \(length < 1 << 7 ? 1 : length < 1 << 14 ? 2 : 3) bytes") }
    note("packed: the last value is \(last == 0 ? "empty" : last < 1 << 7 ? "short" : "long")")
  }

  private mutating func countValue(_ kind: FieldKind, _ value: ByteView) {
    switch kind {
    case .int: note("int of \(value.count) bytes")
    case .string, .bytes: note("\(kind.name): \(value.isEmpty ? "empty" : "some")")
    case .location:
      for bit in 0..<8 where value[0] >> UInt8(bit) & 1 != 0 { note("location with part \(bit)") }
      if value[0] == 0 { note("location without parts") }
    case .asset: note("asset with flags \(value[0])")
    case .reference: note("reference with action \(value[0])")
    case .double, .date: break
    case .strings, .ints, .doubles, .bytesList, .dates, .locations, .assets, .references:
      note("\(kind.name): \(value.uint32(at: 0) == 0 ? "empty" : "some")")
    }
  }

  // MARK: trees

  private enum Tree {
    case file(Int)
    case zone(Int)
  }

  private mutating func countTree(_ place: UInt64, _ tree: Tree, _ file: ByteView) {
    // Safe: a checkpoint names whole pages that are before it.
    let page = unsafe Page(file.slice(Int(place)..<Int(place) + Page.byteCount).base)
    if page.isBranch {
      for child in -1..<page.cellCount { countTree(page.child(child), tree, file) }
      return
    }
    for cell in 0..<page.cellCount {
      let key = page.prefix.array + page.suffix(cell).array
      if page.kind == Page.Kind.catalogLeaf {
        countZone(page.value(cell), file)
      } else {
        countEntry(key, page.value(cell), tree)
      }
    }
  }

  private mutating func countZone(_ value: ByteView, _ file: ByteView) {
    let cell = CatalogValue(value)
    note(
      "zone in the catalog \(cell.ownerBytes[12] == 1 ? "that was deleted for reason \(cell.ownerBytes[13])" : "that is there")"
    )
    for index in 0..<cell.rootCount {
      let reference = cell.root(index).reference
      if reference == 0 { continue }
      note("tree of a zone \(index)")
      note("tree \(InlineTree.isInline(reference) ? "inside a cell" : "on pages of its own")")
      if InlineTree.isInline(reference) {
        countInside(value, reference, .zone(index))
      } else {
        countTree(reference, .zone(index), file)
      }
    }
  }

  /// A tree inside the value of a catalog cell, as FORMAT.md §5 has it.
  private mutating func countInside(_ value: ByteView, _ reference: UInt64, _ tree: Tree) {
    let start = Int(reference & (1 << 48 - 1))
    let bytes = value.slice(start..<start + InlineTree.byteCount(reference))
    let prefix = bytes.dropFirst(bytes.count - Int(bytes.uint16(at: 2))).array
    for index in 0..<Int(bytes.uint16(at: 0)) {
      let slot = 4 + 8 * index
      let cell = Int(bytes.uint16(at: slot + 4)) - (Page.byteCount - bytes.count)
      let keyEnd = cell + 2 + Int(bytes.uint16(at: slot + 6))
      countEntry(
        prefix + bytes.slice(cell + 2..<keyEnd).array, bytes.slice(keyEnd..<keyEnd + Int(bytes.uint16(at: cell))), tree)
    }
  }

  private mutating func countEntry(_ key: [UInt8], _ value: ByteView, _ tree: Tree) {
    switch tree {
    case .file(Roots.metadata): note(key[0] == 0 ? "metadata of the library" : "metadata of the application")
    case .file(Roots.settings): note("setting \(String(decoding: key, as: UTF8.self))")
    case .file(Roots.schema) where key[0] == 0:
      if key[3] == 0 {
        note("index of kind \(value[0])")
        note("index in state \(value[2])")
      } else {
        note("definition of an index in pieces")
      }
    case .file(Roots.declarations) where key[2] > 0: note("declaration in pieces")
    case .zone(ZoneTree.byName.rawValue):
      note("name key \(key[0] < 3 ? "\(key[0])" : "text")")
      note("entry by name, \(value[0] & 128 != 0 ? "contributes" : "contributes nothing")")
    case .zone(ZoneTree.changeJournal.rawValue): note("change \(key[0] == 0 ? "deleted" : "saved")")
    case .zone(ZoneTree.references.rawValue):
      if let end = key.firstIndex(of: 0) { note("referenced for \(key[end + 1])") }
    case .zone(ZoneTree.indexes.rawValue): note("index of a value \(key[2])")
    default: break
    }
  }
}
