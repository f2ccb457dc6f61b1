#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// Property lists in assets, which the system's encoder writes: dictionaries with their keys in order, sets as they come.
extension EncodingScope {
  /// The property list of a value that was encoded as JSON before. That was a dry run: the system's encoder follows a value that
  /// contains itself until the stack ends, and writes what does not read back (PropertyListRoundTrip.swift).
  func propertyList(
    _ value: some Encodable, _ format: RecordCodingOptions.AssetFormat, _ target: FieldTarget
  ) throws -> Data {
    if let fault { throw fault }
    let encoder = PropertyListEncoder()
    encoder.outputFormat = format == .binaryPropertyList ? .binary : .xml
    for (key, value) in options.userInfo { encoder.userInfo[key] = value }
    let data: Data
    do { data = try encoder.encode(value) } catch {
      throw target.error(.unsupportedValue, "The value cannot be written as a property list.", cause: error)
    }
    do throws(PropertyListLimits.Fault) { try PropertyListLimits.check(data) } catch {
      throw target.error(.tooLarge, "The property list would not be read again: \(error.reason).")
    }
    return data
  }

  /// The dry run of a list that was collected as one of a record, whose elements were not looked at as those of a property list.
  func checkReadsBack(_ value: some Encodable, _ encoder: FieldEncoder) throws {
    try JSONSlotEncoder(slot: JSONSlot(form: encoder.form), scope: self, step: encoder.step).encode(value)
  }

  /// The asset that is stored, where it is a property list of an equal value; nil where it is not, or the same bytes tell.
  ///
  /// Sets, and dictionaries whose keys are no texts, are lists in another order each time, and nothing in a property list says which
  /// ones these are. So the stored value is encoded as JSON, where they have an order.
  /// - Parameters:
  ///   - encoder: that of the dry run.
  ///   - result: what the value is as JSON.
  ///   - data: its property list.
  func storedPropertyList<T: Encodable>(
    of value: T, _ encoder: FieldEncoder, _ result: FieldEncoder.Result, _ data: Data
  ) -> Asset? {
    let target = encoder.target
    guard fields.keepsEqualValues, case .asset(let stored)? = fields.record[target.field] as Record.Value?,
      stored.byteCount == data.count, let type = T.self as? any Decodable.Type, let content = try? stored.content(),
      content != data, content.starts(with: "bplist".utf8) == (encoder.form == .binaryPropertyList),
      (try? PropertyListLimits.check(content)) != nil
    else { return nil }
    let decoder = PropertyListDecoder()
    for (key, value) in options.userInfo { decoder.userInfo[key] = value }
    guard let known = try? decoder.decode(type, from: content) as? T else { return nil }
    let again = FieldEncoder(self, target)
    again.form = encoder.form
    again.unorderedGroupCount = encoder.unorderedGroupCount
    let faultBefore = fault
    defer { fault = faultBefore }
    guard (try? nesting(again.step, { try known.encode(to: again) })) != nil, let other = try? again.result() else {
      return nil
    }
    return switch (result, other) {
    case (.json(let text), .json(let known)): text == known ? stored : nil
    // Zero and minus zero are equal, and are stored in two ways here.
    case (.value(.doubles(let list)), .value(.doubles(let known))):
      list.map(\.bitPattern) == known.map(\.bitPattern) ? stored : nil
    case (.value(let value), .value(let known)): value == known ? stored : nil
    default: nil
    }
  }
}
