#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Daybook

/// Property lists in assets, read by the system's decoder. It is asked for the whole value where the type decodes itself, and for the
/// containers where a type reads another's value by hand; paths in its errors begin at the list.
extension FieldDecoder {
  /// A value in a property list; nil when the content is none.
  func propertyList<T: Decodable>(_ asset: Asset, _ type: T.Type) throws -> T? {
    let data = try content(of: asset)
    guard data.starts(with: "bplist".utf8) || data.starts(with: "<?xml".utf8) else { return nil }
    do throws(PropertyListLimits.Fault) { try PropertyListLimits.check(data) } catch {
      throw corrupted("In the property list \(error.reason).")
    }
    let decoder = PropertyListDecoder()
    for (key, value) in scope.options.userInfo { decoder.userInfo[key] = value }
    do { return try decoder.decode(type, from: data) } catch {
      throw DecodingError.dataCorrupted(
        .init(codingPath: codingPath, debugDescription: "The property list has no such value.", underlyingError: error))
    }
  }

  /// The decoder of a property list, for a type that asks for containers; nil where the source is none. Asked once the content is known
  /// to be no JSON, which is not read twice.
  func propertyListDecoder(after error: DecodingError) throws -> (any Decoder)? {
    guard case .dataCorrupted = error, case .value(.asset(let asset)) = source else { return nil }
    return try propertyList(asset, PropertyListRoot.self)?.decoder
  }
}

/// Keeps the decoder that it is made from.
private struct PropertyListRoot: Decodable {
  let decoder: any Decoder
  init(from decoder: any Decoder) { self.decoder = decoder }
}
