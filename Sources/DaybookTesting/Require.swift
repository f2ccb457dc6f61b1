import DaybookEngine

/// Throws when something is not as it has to be.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
  if !condition { throw Forgery.Finding(message()) }
}
