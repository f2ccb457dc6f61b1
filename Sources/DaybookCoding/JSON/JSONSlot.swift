import Daybook

/// A place in the JSON text that is made, filled by whatever containers a type asks for.
///
/// Containers share it, so that one that was handed out for a member may be filled later than its neighbours.
final class JSONSlot {
  enum Content {
    case empty
    case null
    case bool(Bool)
    case int(Int64)
    case unsigned(UInt64)
    case double(Double)
    case string(String)
    case array
    case object
  }

  private(set) var content = Content.empty
  /// What the value is written as in the end: a property list lacks some values that JSON has. Places within have it, too.
  let form: RecordCodingOptions.AssetFormat
  private(set) var elements: [JSONSlot] = []
  /// The elements of an object have these names.
  private var names: [String] = []
  private var places: [ByteText: Int] = [:]
  /// Elements have no order of their own, or so many together have none: the text puts them into one. 0 where they have one.
  var unorderedGroupCount = 0

  init(_ content: Content = .empty, form: RecordCodingOptions.AssetFormat = .json) {
    self.content = content
    self.form = form
  }

  /// Puts a value there; false when there is one.
  func fill(_ value: Content) -> Bool {
    guard case .empty = content else { return false }
    content = value
    return true
  }

  /// The same place may be asked for a container twice, as a class and its superclass do; not for two kinds of them.
  func becomeArray() -> Bool {
    if case .array = content { return true }
    return fill(.array)
  }

  func becomeObject() -> Bool {
    if case .object = content { return true }
    return fill(.object)
  }

  func append() -> JSONSlot {
    let slot = JSONSlot(form: form)
    elements.append(slot)
    return slot
  }

  func append(_ slot: JSONSlot) { elements.append(slot) }

  /// The place of a member; a new one when the name was there before, because the last counts.
  func member(_ name: String, isNew: Bool = true) -> JSONSlot {
    let text = ByteText(name)
    if let place = places[text] {
      if isNew { elements[place] = JSONSlot(form: form) }
      return elements[place]
    }
    places[text] = elements.count
    names.append(name)
    return append()
  }
}

extension JSONSlot {
  /// The JSON text: members sorted by the bytes of their names, no spaces, slashes as they are.
  func text() -> [UInt8] {
    var text: [UInt8] = []
    write(into: &text)
    return text
  }

  private func write(into text: inout [UInt8]) {
    switch content {
    case .empty, .null: text.append(contentsOf: "null".utf8)
    case .bool(let value): text.append(contentsOf: (value ? "true" : "false").utf8)
    case .int(let number): text.append(contentsOf: String(number).utf8)
    case .unsigned(let number): text.append(contentsOf: String(number).utf8)
    case .double(let number):
      if let name = JSON.name(of: number) {
        Self.write(name, into: &text)
      } else {
        // The shortest that reads back as the same number.
        text.append(contentsOf: number.description.utf8)
      }
    case .string(let string): Self.write(string, into: &text)
    case .array: writeArray(into: &text)
    case .object:
      let order = names.indices.sorted { names[$0].utf8.lexicographicallyPrecedes(names[$1].utf8) }
      text.append(UInt8(ascii: "{"))
      for (index, place) in order.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        Self.write(names[place], into: &text)
        text.append(UInt8(ascii: ":"))
        elements[place].write(into: &text)
      }
      text.append(UInt8(ascii: "}"))
    }
  }

  private func writeArray(into text: inout [UInt8]) {
    text.append(UInt8(ascii: "["))
    if unorderedGroupCount > 0 {
      let comma = [UInt8(ascii: ",")]
      let starts = stride(from: 0, to: elements.count, by: unorderedGroupCount)
      let texts = starts.map { Array(elements[$0...].prefix(unorderedGroupCount).map { $0.text() }.joined(separator: comma)) }
      text.append(contentsOf: texts.sorted { $0.lexicographicallyPrecedes($1) }.joined(separator: comma))
    } else {
      for (index, element) in elements.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        element.write(into: &text)
      }
    }
    text.append(UInt8(ascii: "]"))
  }

  private static func write(_ string: String, into text: inout [UInt8]) {
    text.append(UInt8(ascii: "\""))
    for byte in string.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): text.append(contentsOf: [UInt8(ascii: "\\"), byte])
      case 0x08: text.append(contentsOf: "\\b".utf8)
      case 0x09: text.append(contentsOf: "\\t".utf8)
      case 0x0A: text.append(contentsOf: "\\n".utf8)
      case 0x0C: text.append(contentsOf: "\\f".utf8)
      case 0x0D: text.append(contentsOf: "\\r".utf8)
      case 0..<0x20:
        let digits = Array("0123456789abcdef".utf8)
        text.append(contentsOf: "\\u00".utf8)
        text.append(contentsOf: [digits[Int(byte >> 4)], digits[Int(byte & 15)]])
      default: text.append(byte)
      }
    }
    text.append(UInt8(ascii: "\""))
  }
}
