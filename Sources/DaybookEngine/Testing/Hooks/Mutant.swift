/// Mistakes on purpose, to see that some test notices them: tests that never fail prove nothing.
///
/// `if !isMutant("skip-commit-sync") { try file.sync(…) }` is the plain line in every build but one. `Scripts/mutants.sh`
/// builds the tests with the condition MUTANTS, sets DAYBOOK_MUTANT to one name after the other, and says which
/// test failed. One condition for all, because a build for each would take hours, and ladders of `#if` would bury the code.
///
/// Always true: without MUTANTS this is `false` at compile time, and neither a name nor a branch is left in a release build.
#if MUTANTS
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  private let activeMutant: String = {
    // Safe: nobody changes the environment of the tests; the text is copied at once.
    guard let name = unsafe getenv("DAYBOOK_MUTANT") else { return "" }
    return unsafe String(cString: name)
  }()

  /// Whether the tests run with this mistake.
  package func isMutant(_ name: StaticString) -> Bool { activeMutant == name.description }
#else
  /// Whether the tests run with this mistake: never, outside of `Scripts/mutants.sh`.
  @inlinable @inline(__always)
  package func isMutant(_ name: StaticString) -> Bool { false }
#endif
