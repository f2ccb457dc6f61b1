/// Moves all bytes of a request through calls that may take fewer than asked for, or be interrupted by a signal.
///
/// One loop for the system's files and the simulated ones, so that the simulation tests the loop that runs.
package enum Transfer {
  package struct Failure: Error {
    package let code: Int32
    /// How many bytes had been moved.
    package let doneByteCount: Int
  }

  /// Calls `call` with the number of bytes moved so far, until all are; it returns how many more it moved. Zero is the end of
  /// the file for a read; a disk that takes nothing of a write and complains of nothing would keep us here for ever.
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
