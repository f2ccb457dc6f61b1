import Daybook
import Foundation

/// A column that names a file, whose content becomes an asset: a path, from the input's directory on if it is not absolute, or
/// a file URL. Anything else is refused with its row.
struct AssetColumn {
  let key: String
  let position: Int

  static func asset(_ text: String, _ column: String, base: String, _ line: Int) throws(ToolError) -> Asset? {
    if text.isEmpty { return nil }
    let url: URL?
    if let scheme = scheme(of: text) {
      guard scheme == "file" else { throw .badRow(line: line, "\(column): only files become assets, not \(scheme) URLs.") }
      url = URL(string: text)
    } else {
      url = URL(fileURLWithPath: text.hasPrefix("/") ? text : base + "/" + text)
    }
    guard let url else { throw .badRow(line: line, "\(column): this is no file URL.") }
    do throws(DatabaseError) { return try Asset(fileURL: url) } catch { throw Importer.badRow(line, error) }
  }

  /// What stands before `://`, if it can be a scheme.
  private static func scheme(of text: String) -> String? {
    guard let range = text.range(of: "://") else { return nil }
    let scheme = text[..<range.lowerBound].lowercased()
    return !scheme.isEmpty && scheme.utf8.allSatisfy { $0 >= 0x61 && $0 <= 0x7A } ? scheme : nil
  }
}
