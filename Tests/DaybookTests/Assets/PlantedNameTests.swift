import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

/// Names beside the file that another user has taken before the library needs them.
@Suite("planted names")
struct PlantedNameTests {
  enum Plant: String, CaseIterable, CustomTestStringConvertible {
    case linkToNothing, linkToFile, folder, pipe
    var testDescription: String { rawValue }

    func put(at path: String, stranger: String) throws {
      switch self {
      case .linkToNothing:
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "nothing at all")
      case .linkToFile: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: stranger)
      case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      case .pipe: try #require(AssetBench.makePipe(path))
      }
    }
  }

  private static func options() -> Database.Options {
    var options = Database.Options()
    options.lockTimeout = .zero
    return options
  }

  @Test(
    "what stands where a new database is made is told by its name, at once, and left alone", .timeLimit(.minutes(15)),
    arguments: Plant.allCases)
  func creation(plant: Plant) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, stranger) = (folder.file("a.daybook"), folder.file("stranger"))
    try Data("somebody's".utf8).write(to: URL(filePath: stranger))
    try plant.put(at: path + ".new", stranger: stranger)
    let error = failure { try Database.open(at: path, options: Self.options()) }
    // With a link that leads to nothing it had waited for the timeout, and then said that the file was locked.
    #expect(error?.code == .ioFailed && error?.facts.path?.hasSuffix("/a.daybook.new") == true, "\(String(describing: error))")
    #expect(try Data(contentsOf: URL(filePath: stranger)) == Data("somebody's".utf8))
    #expect(try FileManager.default.attributesOfItem(atPath: path + ".new")[.type] as? FileAttributeType != .typeRegular)
    #expect(!FileManager.default.fileExists(atPath: path))
    try FileManager.default.removeItem(atPath: path + ".new")
    try Database.open(at: path, options: Self.options()).close()
  }

  @Test(
    "what stands where a compacted file is made is told by its name and left alone; all else works",
    .timeLimit(.minutes(15)), arguments: Plant.allCases, ["", ".new"])
  func compaction(plant: Plant, ending: String) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let (path, stranger) = (folder.file("a.daybook"), folder.file("stranger"))
    try Data("somebody's".utf8).write(to: URL(filePath: stranger))
    let planted = path + ".compacted" + ending
    for isOpenBefore in [true, false] {
      if !isOpenBefore { try plant.put(at: planted, stranger: stranger) }
      let database = try Database.open(at: path, options: Self.options())
      if isOpenBefore { try plant.put(at: planted, stranger: stranger) }
      let error = failure { try database.compact() }
      #expect(
        error?.code == .ioFailed && error?.facts.path?.hasSuffix(".compacted\(ending)") == true,
        "\(String(describing: error))")
      try database.put("a\(isOpenBefore)")
      #expect(try Data(contentsOf: URL(filePath: stranger)) == Data("somebody's".utf8))
      try FileManager.default.removeItem(atPath: planted)
      try database.compact()
      try database.expectClean()
      try database.close()
    }
  }
}
