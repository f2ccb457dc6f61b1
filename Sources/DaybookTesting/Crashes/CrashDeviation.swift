import DaybookEngine

/// A promise that was broken.
package struct CrashDeviation: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
