import Daybook
import Foundation
import Testing

@testable import DaybookTool

/// A process that opens a file to read while another one writes, is stopped or is killed.
@Suite("reading beside a process", .enabled(if: ProgramUnderTest.url != nil, "the program was not built beside the tests"))
struct ReaderProcessTests {
  /// A process that commits one step after the other, and says of each when it was acknowledged.
  private final class Writer {
    private let process = Process()
    private let output = Pipe()

    init(_ file: String) throws {
      let program: URL = try #require(ProgramUnderTest.url)
      process.executableURL = program
      process.arguments = ["trial-writer", "single", file]
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      process.standardInput = FileHandle.nullDevice
      try process.run()
    }

    deinit {
      send(SIGKILL)
      process.waitUntilExit()
    }

    /// The number of the next step that the process says was acknowledged.
    func nextStep() throws -> Int {
      var digits: [UInt8] = []
      while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0A { digits.append(byte) }
      return Int(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Kills it. Returns the last step that it said was acknowledged.
    func end(_ known: Int) throws -> Int {
      send(SIGKILL)
      process.waitUntilExit()
      let rest = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
      // A line that was cut off says nothing.
      return rest.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { Int($0) }.last ?? known
    }
  }

  private func open(_ file: String) throws -> Database {
    var options = Database.Options()
    options.isReadOnly = true
    return try Database.open(at: file, options: options)
  }

  @Test("whoever opens a file to read sees what another process acknowledged before, also when that one is killed")
  func acknowledged() throws {
    let bench = try Workbench()
    let file = bench.path("test.daybook")
    let writer = try Writer(file)
    var step = 0
    for _ in 0..<12 {
      for _ in 0..<5 { step = try writer.nextStep() }
      let shown = try open(file).lastStep()
      #expect(shown >= step, "step \(shown) is shown, \(step) was acknowledged")
    }
    step = try writer.end(step)
    #expect(try open(file).lastStep() >= step)
  }

  @Test("a writer that is stopped holds no reader up for long, and is followed when it goes on")
  func stopped() throws {
    let bench = try Workbench()
    let file = bench.path("test.daybook")
    let writer = try Writer(file)
    for _ in 0..<5 { _ = try writer.nextStep() }
    writer.send(SIGSTOP)
    // It would wait for ever for a writer that cannot answer.
    let reader = try open(file)
    // What the last frame proves: all but the last commit.
    #expect(try reader.lastStep() >= 4)
    let shown = try reader.lastStep()
    writer.send(SIGCONT)
    for _ in 0..<2000 where try reader.lastStep() <= shown {
      try reader.refresh()
      Thread.sleep(forTimeInterval: 0.005)
    }
    #expect(try reader.lastStep() > shown)
  }
}
