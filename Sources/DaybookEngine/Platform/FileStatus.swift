/// What the engine needs to know of an existing file.
struct FileStatus {
  let identity: FileIdentity
  /// How many names lead to it.
  let linkCount: Int
  let byteCount: Int
  /// What it takes on the volume.
  let allocatedByteCount: Int
  let isRegular: Bool
  let isDirectory: Bool
  let owner: UInt32
  let group: UInt32
  /// Seconds and nanoseconds since 1970.
  let modificationTime: (Int64, Int64)
}
