import Daybook
import Foundation

/// A column that names a file, whose content becomes an asset: a path, from the input's directory on if it is not absolute, or
/// a file URL. Anything else is refused with its row.
///
/// Only files of the input's directory and of that of `--assets` are taken, also through links: whoever wrote the input
/// does not choose which other files of this machine are read.
struct AssetColumn {
  let key: String
  let position: Int

  static func asset(_ text: String, _ column: String, _ options: ImportOptions, _ line: Int) throws(ToolError) -> Asset? {
    if text.isEmpty { return nil }
    let url: URL?
    if let scheme = scheme(of: text) {
      guard scheme == "file" else { throw .badRow(line: line, "\(column): only files become assets, not \(scheme) URLs.") }
      url = URL(string: text)
    } else {
      url = URL(fileURLWithPath: text.hasPrefix("/") ? text : options.baseDirectory + "/" + text)
    }
    guard let url else { throw .badRow(line: line, "\(column): this is no file URL.") }
    // What was looked at is what is opened.
    let file = url.resolvingSymlinksInPath()
    guard [options.baseDirectory, options.assetDirectory].contains(where: { $0.map { isFile(url, file, in: $0) } ?? false })
    else {
      throw .badRow(
        line: line,
        "\(column): \(url.path) is not in the directory of the input; --assets names another one whose files may be taken.")
    }
    do throws(DatabaseError) { return try Asset(fileURL: file) } catch { throw Importer.badRow(line, error) }
  }

  private static func isFile(_ url: URL, _ file: URL, in directory: String) -> Bool {
    let root = URL(fileURLWithPath: directory).resolvingSymlinksInPath().path
    // Of a file that is missing only the directory can be followed.
    let path =
      FileManager.default.fileExists(atPath: file.path)
      ? file.path : url.deletingLastPathComponent().resolvingSymlinksInPath().path
    return path == root || path.hasPrefix(root == "/" ? "/" : root + "/")
  }

  /// What stands before `://`, if it can be a scheme.
  private static func scheme(of text: String) -> String? {
    guard let range = text.range(of: "://") else { return nil }
    let scheme = text[..<range.lowerBound].lowercased()
    return !scheme.isEmpty && scheme.utf8.allSatisfy { $0 >= 0x61 && $0 <= 0x7A } ? scheme : nil
  }
}
