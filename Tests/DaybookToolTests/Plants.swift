import Foundation
import Testing

@testable import DaybookTool

/// What somebody else may have put where a command looks or writes, and looking at files without changing them.
enum Plants {
  /// Somebody who is neither root nor the user nobody.
  static let stranger: UInt32 = 65_533
  static let nobody: UInt32 = 65_534

  static var isRoot: Bool { geteuid() == 0 }

  static func pipe(_ path: String) throws {
    // Safe: the path is a C string for the length of the call; the same below.
    guard unsafe mkfifo(path, 0o600) == 0 else { throw ToolError(.inputOutput, "no pipe at \(path)") }
  }

  static func link(_ path: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
  }

  static func hardLink(_ path: String, to target: String) throws {
    try FileManager.default.linkItem(atPath: target, toPath: path)
  }

  /// A null device of one's own; only root makes one.
  static func device(_ path: String) throws {
    guard unsafe mknod(path, mode_t(S_IFCHR) | 0o666, 0x103) == 0 else { throw ToolError(.inputOutput, "no device at \(path)") }
  }

  /// Gives a file or the link itself to somebody; only root does.
  static func give(_ path: String, to user: UInt32) throws {
    guard unsafe lchown(path, user, user) == 0 else { throw ToolError(.inputOutput, "\(path) is not given away") }
  }

  static func setMode(_ mode: Int, of path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  /// What tells whether a file is the one that it was.
  struct Trace: Hashable {
    let inode: Int
    let mode: Int
    let owner: Int
    let kind: FileAttributeType?
    var content: Data?
    var target: String?
    var isPlain: Bool { kind == .typeRegular || kind == .typeDirectory }
  }

  /// The trace of one file, without following it.
  static func trace(_ path: String) throws -> Trace {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let kind = attributes[.type] as? FileAttributeType
    var trace = Trace(
      inode: attributes[.systemFileNumber] as? Int ?? 0, mode: attributes[.posixPermissions] as? Int ?? 0,
      owner: attributes[.ownerAccountID] as? Int ?? 0, kind: kind)
    if kind == .typeRegular { trace.content = FileManager.default.contents(atPath: path) }
    if kind == .typeSymbolicLink { trace.target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) }
    return trace
  }

  /// All that lies in a folder, by path, links not followed.
  static func traces(in folder: String) throws -> [String: Trace] {
    var result: [String: Trace] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let path = folder + "/" + name
      let trace = try trace(path)
      result[path] = trace
      if trace.kind == .typeDirectory { result.merge(try traces(in: path)) { first, _ in first } }
    }
    return result
  }

  /// Names with everything in them that a terminal, a log or a table could trip over.
  static let names = [
    "e\u{1B}]0;owned\u{7}vil", "red\u{1B}[31m", "two\nlines", "back\rwards", "csi\u{9B}2J", "\u{202E}gpj.exe",
    "\u{2067}rtl\u{2066}",
    "sep\u{2028}a\u{2029}b", "del\u{7F}", "שלום\u{200F}", "plain",
  ]

  /// What is raw in an output and must not be: everything but the line ends of its lines.
  static func rawControls(in text: String) -> [Unicode.Scalar] {
    text.unicodeScalars.filter { scalar in
      switch scalar.value {
      case 0x0A: false
      case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
      default: false
      }
    }
  }
}

/// One call of the program that is ended when it hangs.
struct ProgramRun {
  let status: Int32
  let output: String
  let errors: String
  let hung: Bool

  /// - Parameters:
  ///   - user: who calls it; nil: whoever runs the tests.
  ///   - script: a line for the shell, in which "$@" is the call; nil: the call alone.
  static func start(
    _ arguments: [String], as user: UInt32? = nil, script: String? = nil, in directory: String? = nil,
    environment: [String: String] = [:]
  ) throws -> ProgramRun {
    let program: URL = try #require(ProgramUnderTest.url)
    var words = [program.path] + arguments
    if let script { words = ["/bin/sh", "-c", script, "sh"] + words }
    if let user { words = ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"] + words }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    // Files, because a pipe that nobody empties fills up.
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("daybook-run-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let files = try ["output", "errors"].map { name in
      let url = folder.appendingPathComponent(name)
      try Data().write(to: url)
      return try FileHandle(forWritingTo: url)
    }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = files[0]
    process.standardError = files[1]
    let ended = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in ended.signal() }
    try process.run()
    // Long enough for the busiest machine: only what waits for ever gets there.
    let hung = ended.wait(timeout: .now() + 120) == .timedOut
    if hung {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    func text(_ name: String) throws -> String {
      String(decoding: try Data(contentsOf: folder.appendingPathComponent(name)), as: UTF8.self)
    }
    return ProgramRun(status: process.terminationStatus, output: try text("output"), errors: try text("errors"), hung: hung)
  }
}
