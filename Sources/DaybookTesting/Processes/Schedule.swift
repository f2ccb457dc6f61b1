import DaybookEngine

/// How the next actor is chosen while the present one could go on.
package enum Schedule: Sendable {
  /// At one point in so many another actor goes on, as the seed decides.
  case random(seed: UInt64, oneIn: Int)
  /// At these points and no others.
  case handOvers([HandOver])
}
