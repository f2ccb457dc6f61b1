import Foundation
import Testing

/// The pages that people read, at the top of the package and below it.
enum Pages {
  /// The folder of the package.
  static let root: URL = {
    var folder = URL(filePath: #filePath).deletingLastPathComponent()
    while folder.path != "/", !FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path) {
      folder.deleteLastPathComponent()
    }
    return folder
  }()

  static let all = [
    "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "DECISIONS.md", "FORMAT.md", "RELIABILITY.md",
    "Benchmarks/README.md", "Benchmarks/RESULTS.md", "Examples/Apple.md", "Examples/Guide.md", "Fuzz/README.md",
    "Sources/DaybookTesting/README.md",
  ]

  /// The lines of a page, those of code blocks left out.
  static func lines(of path: String) throws -> [String] {
    var isCode = false
    return try String(contentsOf: root.appending(path: path), encoding: .utf8).components(separatedBy: "\n").filter { line in
      if line.hasPrefix("```") {
        isCode.toggle()
        return false
      }
      return !isCode && !line.hasPrefix("    ")
    }
  }

  /// The anchors of a page's headings, as GitHub makes them.
  static func anchors(of path: String) throws -> Set<String> {
    var anchors: Set<String> = []
    for line in try lines(of: path) where line.hasPrefix("#") {
      let title = line.drop { $0 == "#" }.dropFirst().lowercased()
      anchors.insert(
        String(title.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }).replacing(" ", with: "-"))
    }
    return anchors
  }

  /// Names of files below some folders.
  static func fileNames(below folders: String...) -> Set<String> {
    var names: Set<String> = []
    for folder in folders {
      let files = FileManager.default.enumerator(at: root.appending(path: folder), includingPropertiesForKeys: nil)
      while let file = files?.nextObject() as? URL { names.insert(file.lastPathComponent) }
    }
    return names
  }
}

@Suite("the pages for people")
struct PagesTests {
  @Test("every link leads to a file that is there, and to a heading that it has", arguments: Pages.all)
  func links(path: String) throws {
    let folder = Pages.root.appending(path: path).deletingLastPathComponent()
    for line in try Pages.lines(of: path) {
      for match in line.matches(of: /\]\(([^)\s]+)\)/) {
        let target = String(match.1)
        if target.contains("://") { continue }
        let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let file = parts[0].isEmpty ? Pages.root.appending(path: path) : folder.appending(path: parts[0])
        #expect(FileManager.default.fileExists(atPath: file.path), "\(path) links to \(target)")
        guard parts.count == 2, file.pathExtension == "md" else { continue }
        let known = file.standardizedFileURL.path.dropFirst(Pages.root.standardizedFileURL.path.count + 1)
        #expect(try Pages.anchors(of: String(known)).contains(parts[1]), "\(path) links to \(target)")
      }
    }
  }

  @Test("every source file and every suite that a page names exists", arguments: Pages.all.filter { $0 != "CHANGELOG.md" })
  func names(path: String) throws {
    let files = Pages.fileNames(below: "Sources", "Tests", "Fuzz/Sources")
    let tests = Pages.fileNames(below: "Tests")
    for line in try Pages.lines(of: path) {
      for match in line.matches(of: /`([A-Za-z0-9+\/]*?)([A-Za-z0-9+]+\.swift)`/) {
        let name = String(match.2)
        #expect(name == "Package.swift" || files.contains(name), "\(path) names \(name)")
      }
      for match in line.matches(of: /`([A-Z][A-Za-z0-9]+Tests)`/) {
        #expect(tests.contains("\(match.1).swift"), "\(path) names \(match.1)")
      }
    }
  }

  @Test("the first pages stay short", arguments: [("README.md", 250), ("ARCHITECTURE.md", 300)])
  func lengths(path: String, limit: Int) throws {
    let text = try String(contentsOf: Pages.root.appending(path: path), encoding: .utf8)
    #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= limit + 1)
  }
}
