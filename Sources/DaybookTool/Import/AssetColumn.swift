import Daybook
import DaybookEngine
import Foundation

/// A column that names a file, whose content becomes an asset: a path, from the input's directory on if it is not absolute, or
/// a file URL. Anything else is refused with its row.
///
/// Only files of the input's directory and of that of `--assets` are taken, also through links: whoever wrote the input
/// does not choose which other files of this machine are read. Both directories are open before the first row, so putting others
/// in their places leads nowhere. What a link leads to is looked for once; from then on the file is reached without links, and
/// whatever else its name leads to when it is read is refused.
struct AssetColumn {
  let key: String
  let position: Int
  /// A path of 4,096 bytes, escaped in a URL; no system has longer ones.
  private static let longestText = 16 << 10

  static func asset(_ text: String, _ column: String, _ options: ImportOptions, _ line: Int) throws(ToolError) -> Asset? {
    if text.isEmpty { return nil }
    guard text.utf8.count <= longestText else {
      throw .badRow(line: line, "\(column): this is no path: it has \(text.utf8.count) bytes.")
    }
    let url: URL?
    if let scheme = scheme(of: text) {
      guard scheme == "file" else { throw .badRow(line: line, "\(column): only files become assets, not \(scheme) URLs.") }
      url = URL(string: text)
    } else {
      url = URL(fileURLWithPath: text.startsWithBytes(of: "/") ? text : (options.base?.path ?? ".") + "/" + text)
    }
    guard let url else { throw .badRow(line: line, "\(column): this is no file URL.") }
    do throws(DatabaseError) {
      if let asset = try asset(at: url, below: [options.base, options.assetFolder]) { return asset }
    } catch { throw Importer.badRow(line, error) }
    throw .badRow(
      line: line,
      "\(column): \(url.path) is not in the directory of the input; --assets names another one whose files may be taken.")
  }

  /// The file that a URL leads to, if it is in one of the folders; else nil.
  static func asset(at url: URL, below folders: [SourceFolder?]) throws(DatabaseError) -> Asset? {
    let file = url.resolvingSymlinksInPath()
    for case let folder? in folders where isFile(url, file, in: folder.path) {
      return try Asset(fileURL: file, below: folder)
    }
    return nil
  }

  private static func isFile(_ url: URL, _ file: URL, in root: String) -> Bool {
    // Of a file that is missing only the directory can be followed.
    let path =
      FileManager.default.fileExists(atPath: file.path)
      ? file.path : url.deletingLastPathComponent().resolvingSymlinksInPath().path
    return UTF8Order.equal(path, root) || path.startsWithBytes(of: root == "/" ? "/" : root + "/")
  }

  /// What stands before `://`, if it can be a scheme.
  private static func scheme(of text: String) -> String? {
    guard let range = text.range(of: "://") else { return nil }
    let scheme = text[..<range.lowerBound].lowercased()
    return !scheme.isEmpty && scheme.utf8.allSatisfy { $0 >= 0x61 && $0 <= 0x7A } ? scheme : nil
  }
}
