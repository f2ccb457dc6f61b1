import DaybookFuzzing

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  // Safe: libFuzzer lends that many bytes for the length of this call.
  let input = unsafe [UInt8](UnsafeBufferPointer(start: start, count: byteCount))
  do { try FuzzEntry.predicate.runInTime(input) } catch { fatalError("predicate: \(error)") }
  return 0
}
