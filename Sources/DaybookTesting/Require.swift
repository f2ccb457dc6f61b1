import DaybookEngine

/// Throws when a condition does not hold.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
  if !condition { throw Forgery.Finding(message()) }
}
