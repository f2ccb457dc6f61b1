import DaybookEngine

/// A change from one actor to another, at a call of a step, by the numbers of step and call, so that it keeps its meaning when
/// other steps are left out.
package struct HandOver: Hashable, Sendable, CustomStringConvertible {
  package var actor: Int
  package var step: Int
  package var call: Int
  package var to: Int

  package var description: String { "actor \(actor), step \(step), before call \(call): actor \(to) goes on" }
}
