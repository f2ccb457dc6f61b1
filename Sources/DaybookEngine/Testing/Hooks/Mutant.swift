/// Deliberate mistakes, to show that some test notices each: tests that never fail prove nothing.
///
/// In every normal build, `if !isMutant("skip-commit-sync") { try file.sync(…) }` is just the call. `Scripts/mutants.sh` builds
/// the tests once with the condition MUTANTS, sets DAYBOOK_MUTANT to one name after the other, and reports which test failed. A
/// build for each mistake would take hours, and many `#if` would bury the code.
///
/// Always true: without MUTANTS this is `false` at compile time, and a release build contains neither the names nor the
/// branches.
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
