import Foundation

/// What the rows do with files.
enum Files {
  /// The bytes of all files in a directory and below.
  static func byteCount(in directory: String) throws -> Int {
    var sum = 0
    for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
      let attributes = try FileManager.default.attributesOfItem(atPath: directory + "/" + name)
      if attributes[.type] as? FileAttributeType == .typeRegular { sum += (attributes[.size] as? Int) ?? 0 }
    }
    return sum
  }

  /// Of one file; 0 where there is none.
  static func byteCount(of path: String) throws -> Int {
    guard FileManager.default.fileExists(atPath: path) else { return 0 }
    return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
  }

  static func remove(_ path: String) throws {
    if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
  }

  static func copy(_ source: String, to target: String) throws {
    try remove(target)
    try FileManager.default.copyItem(atPath: source, toPath: target)
  }

  /// Asks the system to keep nothing of a directory's files in memory. They must be closed, and written back.
  static func evict(_ directory: String) throws {
    #if os(Linux)
      for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: directory + "/" + name))
        posix_fadvise(file.fileDescriptor, 0, 0, POSIX_FADV_DONTNEED)
        try file.close()
      }
    #endif
  }

  /// What a copy costs at least that a power loss does not take back.
  static func copySynced(_ source: String, to target: String) throws {
    try copy(source, to: target)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: target))
    try file.synchronize()
    try file.close()
  }
}

/// What the device under a directory has written, by the block layer's own count; nil where the system does not tell.
/// Everything that writes to the device counts: on a machine that does something else as well this says little.
struct DeviceWrites {
  private let path: String?

  init(of directory: String) {
    #if os(Linux)
      var status = stat()
      guard stat(directory, &status) == 0 else {
        path = nil
        return
      }
      let device = UInt64(status.st_dev)
      // The numbers as glibc packs them.
      let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
      let minor = device & 0xFF | (device >> 12) & ~0xFF
      path = "/sys/dev/block/\(major):\(minor)/stat"
    #else
      path = nil
    #endif
  }

  func byteCount() -> Int? {
    guard let path, let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    let fields = text.split(separator: " ")
    // The seventh field: sectors of 512 bytes written.
    return fields.count > 6 ? Int(fields[6]).map { $0 * 512 } : nil
  }
}
