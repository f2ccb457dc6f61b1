/// Content that does not change, on the heap: what holds it is one pointer wide. A function that may throw an error of this width
/// costs nothing more while it does not throw.
package final class Box<Content: Sendable>: Sendable {
  package let content: Content

  package init(_ content: Content) { self.content = content }
}
