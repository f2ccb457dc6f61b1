import Foundation
import Testing

@testable import DaybookEngine

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
    "Sources/DaybookTesting/README.md", "Sources/DaybookCoding/README.md",
    "Sources/DaybookSync/README.md",
  ]

  /// The lines of a page, those of code blocks left out.
  static func lines(of path: String) throws -> [String] {
    var isCode = false
    return try text(of: path).components(separatedBy: "\n").filter { line in
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

  /// The text of a file of the package.
  static func text(of path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// The types that the tests declare: what `swift test --filter` finds. It looks for no names of files, and ends well where it
  /// finds nothing.
  static func testTypes() throws -> Set<String> {
    var types: Set<String> = []
    let files = FileManager.default.enumerator(at: root.appending(path: "Tests"), includingPropertiesForKeys: nil)
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift" else { continue }
      let text = try String(contentsOf: file, encoding: .utf8)
      for match in text.matches(of: /(?m)^ *(?:[a-z@]+ )*(?:struct|class|enum|actor) ([A-Z][A-Za-z0-9]+)/) {
        types.insert(String(match.1))
      }
    }
    return types
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
    let suites = try Pages.testTypes()
    for line in try Pages.lines(of: path) {
      for match in line.matches(of: /`([A-Za-z0-9+\/]*?)([A-Za-z0-9+]+\.swift)`/) {
        let name = String(match.2)
        #expect(name == "Package.swift" || files.contains(name), "\(path) names \(name)")
      }
      for match in line.matches(of: /`([A-Z][A-Za-z0-9]+Tests)`/) {
        let isKnown = suites.contains(String(match.1))
        #expect(isKnown, "\(path) names \(match.1), and no type of the tests has that name")
      }
    }
  }

  @Test("the first pages stay short", arguments: [("README.md", 250), ("ARCHITECTURE.md", 300)])
  func lengths(path: String, limit: Int) throws {
    let text = try Pages.text(of: path)
    #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= limit + 1)
  }

  @Test("each part of Scripts/check.sh is in the table of checks, and each that a page names is one")
  func parts() throws {
    let script = try Pages.text(of: "Scripts/check.sh")
    let parts = Set(script.matches(of: /(?m)^    ([a-z]+)\) step/).map { String($0.1) })
    #expect(parts.count > 10)
    let table = try Pages.lines(of: "CONTRIBUTING.md").filter { $0.hasPrefix("| `Scripts/check.sh") }.joined()
    for part in parts {
      let isThere = try table.contains(Regex("\\b\(part)\\b"))
      #expect(isThere, "CONTRIBUTING.md has no \(part)")
    }
    let header = Set(script.matches(of: /(?m)^# {5}([a-z]+) +\S/).map { String($0.1) })
    #expect(header == parts, "the header of check.sh: \(header.symmetricDifference(parts).sorted())")
    let all = try Self.words(in: #require(script.firstMatch(of: /= all \] && parts=\(([a-z ]+)\)/)).1)
    // The CI runs the tests first, by themselves.
    let ci = try Self.words(in: #require(Pages.text(of: ".ci/run").firstMatch(of: /check\.sh ([a-z ]+)/)).1)
    #expect(all == ci.union(["test"]), ".ci/run: \(all.symmetricDifference(ci).sorted())")
    let others = try Self.words(in: #require(Pages.text(of: "CONTRIBUTING.md").firstMatch(of: /; without ([a-z`, ]+)/)).1)
    #expect(others == parts.subtracting(all), "CONTRIBUTING.md: \(others.symmetricDifference(parts.subtracting(all)).sorted())")
    for path in Pages.all where path != "CHANGELOG.md" {
      for match in try Pages.text(of: path).matches(of: /`(?:Scripts\/)?check\.sh ([a-z]+)`/) where match.1 != "all" {
        #expect(parts.contains(String(match.1)), "\(path) names check.sh \(match.1)")
      }
    }
  }

  private static func words(in list: Substring) -> Set<String> {
    Set(list.split { !$0.isLetter }.map(String.init))
  }

  @Test(
    "every page says alike when a file is compacted by itself",
    arguments: [
      "README.md", "ARCHITECTURE.md", "Examples/Guide.md", "Sources/Daybook/Database/DatabaseOptions.swift",
    ])
  func compactionRule(path: String) throws {
    let rule = try #require(Pages.text(of: path).firstMatch(of: /larger than ([0-9]+) MB and than twice its live data/))
    #expect(Int(rule.1) == Store.leastCompactedByteCount >> 20)
  }

  @Test("the number of mistakes on the page is that of the catalogue, and each of them is in the code")
  func mutants() throws {
    let script = try Pages.text(of: "Scripts/mutants.sh")
    let begin = try #require(script.range(of: "<<'END'\n"))
    let end = try #require(script.range(of: "\nEND\n", range: begin.upperBound..<script.endIndex))
    let names = Set(
      script[begin.upperBound..<end.lowerBound].split(separator: "\n").compactMap { $0.split(separator: " ").first })
    var inCode: Set<Substring> = []
    let files = FileManager.default.enumerator(at: Pages.root.appending(path: "Sources"), includingPropertiesForKeys: nil)
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift" else { continue }
      for match in try String(contentsOf: file, encoding: .utf8).matches(of: /isMutant\("([a-z0-9-]+)"\)/) {
        inCode.insert(match.1)
      }
    }
    #expect(names == inCode, "\(names.symmetricDifference(inCode).sorted())")
    let page = try Pages.text(of: "RELIABILITY.md")
    let match = try #require(page.firstMatch(of: /one of\s+([0-9]+) mistakes/))
    #expect(Int(match.1) == names.count)
  }
}
