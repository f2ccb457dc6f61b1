#if !canImport(CloudKit)
  import Daybook
  import DaybookCompatibility
  import Foundation
  import Testing

  /// Containers for tests: each with a name of its own in one folder, closed and removed at the end.
  enum Scratch {
    static let folder: URL = {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("daybook-names-\(UUID().uuidString)")
      try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      return folder
    }()

    /// Where containers are, set once for all tests.
    private static let isSet: Bool = {
      var setting = CKContainer.Setting()
      setting.directory = folder.appendingPathComponent("containers")
      setting.defaultIdentifier = "iCloud.com.example.Default"
      CKContainer.setting = setting
      return true
    }()

    static func prepare() { #expect(isSet) }

    static func container<R>(_ body: (CKContainer) async throws -> R) async throws -> R {
      prepare()
      let id = "iCloud.com.example.Test\(UUID().uuidString)"
      let container = CKContainer(identifier: id)
      defer {
        try? container.close()
        let files = try? FileManager.default.contentsOfDirectory(
          at: CKContainer.setting.directory, includingPropertiesForKeys: nil)
        for file in files ?? [] where file.lastPathComponent.hasPrefix(id) { try? FileManager.default.removeItem(at: file) }
      }
      return try await body(container)
    }

    /// A file with a content.
    static func file(_ content: String, _ name: String = UUID().uuidString) throws -> URL {
      let url = folder.appendingPathComponent(name)
      try Data(content.utf8).write(to: url)
      return url
    }
  }

  /// What a handler was called with.
  final class Collected<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [Value] = []

    func append(_ value: Value) {
      lock.lock()
      defer { lock.unlock() }
      list.append(value)
    }

    var values: [Value] {
      lock.lock()
      defer { lock.unlock() }
      return list
    }
  }

  extension Operation {
    /// Waits until the operation has ended, without keeping a thread. Set before it is queued.
    func ended(_ start: () -> Void) async {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        completionBlock = { continuation.resume() }
        start()
      }
    }
  }

  /// Errors of a server, as a database reports them.
  enum DatabaseErrors {
    static let busy = DatabaseError(.requestRateLimited, retryAfter: .milliseconds(250))
  }
#endif
