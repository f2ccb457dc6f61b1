/// Moves all bytes of a request through calls that may move fewer bytes than asked for, or be interrupted by a signal.
///
/// The system's files and the simulated ones share this loop, so the simulation tests the real one.
package enum Transfer {
  package struct Failure: Error {
    package let code: Int32
    /// How many bytes had been moved.
    package let doneByteCount: Int
  }

  /// Calls `call` with the number of bytes moved so far, until all are moved; `call` returns how many more it moved. For a
  /// read, zero means the end of the file (`endsAtZero`). A write that moves nothing and reports no error counts as failed;
  /// otherwise the loop would never end.
  /// - Returns: how many bytes were moved.
  @discardableResult
  package static func all(
    byteCount: Int, endsAtZero: Bool = false, _ call: (Int) throws(SystemError) -> Int
  ) throws(Failure) -> Int {
    var done = 0
    while done < byteCount {
      do throws(SystemError) {
        let count = try call(done)
        if count == 0 && endsAtZero { break }
        guard count > 0 else { throw SystemError(code: ErrorNumber.inputOutput) }
        done += count
      } catch {
        if error.code == ErrorNumber.interrupted { continue }
        throw Failure(code: error.code, doneByteCount: done)
      }
    }
    return done
  }
}
