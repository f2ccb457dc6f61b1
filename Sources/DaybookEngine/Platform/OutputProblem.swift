/// An `OutputFault` before it is known which path it is about.
enum OutputProblem: Error {
  case system(SystemError)
  case refused(OutputRefusal)

  static func on<Result>(_ call: () throws(SystemError) -> Result) throws(OutputProblem) -> Result {
    do { return try call() } catch { throw .system(error) }
  }
}
