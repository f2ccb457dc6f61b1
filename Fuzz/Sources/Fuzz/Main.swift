import DaybookFuzzing

/// One program for all targets: it is called by a link that names one, as `FuzzOpen` for `open` (`run.sh` makes them). A program
/// each took 76 MB and the linker's time, and all had the same code.
private let target: FuzzEntry = {
  let name = CommandLine.arguments.first?.split(separator: "/").last?.dropFirst("Fuzz".count).lowercased() ?? ""
  guard let target = FuzzEntry(rawValue: name) else { fatalError("call it by a link that names a target, as run.sh does") }
  return target
}()

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  // Safe: libFuzzer lends that many bytes for the length of this call.
  let input = unsafe [UInt8](UnsafeBufferPointer(start: start, count: byteCount))
  do { try target.isText ? target.runInTime(input) : target.run(input) } catch { fatalError("\(target): \(error)") }
  return 0
}
