/// A value of which each process has one: a child after `fork` begins with a new one.
///
/// For what all of a process share under a lock. Another thread of the parent may have held that lock at the fork, and would never
/// release it in the child; so the child must not even ask for it. Here it gets a value, and a lock, of its own, without waiting.
///
/// Always true: a value lives as long as the program, the parent's in a child, too, where nothing reaches it any more.
import Synchronization

@safe package final class PerProcess<Value: AnyObject & Sendable>: Sendable {
  private final class Cell: Sendable {
    let process = processID()
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  /// The address of the cell, 0 before there is one.
  private let address = Atomic<UInt>(0)
  private let make: @Sendable () -> Value

  package init(_ make: @escaping @Sendable () -> Value) { self.make = make }

  package var value: Value {
    let process = processID()
    while true {
      let known = address.load(ordering: .acquiring)
      if known != 0 {
        // Safe: a cell that was stored here is never released.
        let cell = unsafe Unmanaged<Cell>.fromOpaque(UnsafeRawPointer(bitPattern: known).unsafelyUnwrapped)
          .takeUnretainedValue()
        if cell.process == process { return cell.value }
      }
      // Safe: the reference is kept if the next line stores it, and released if not.
      let new = unsafe Unmanaged.passRetained(Cell(make()))
      let bits = unsafe UInt(bitPattern: new.toOpaque())
      // Another thread may have been faster; then its value counts.
      if !address.compareExchange(expected: known, desired: bits, ordering: .acquiringAndReleasing).exchanged {
        unsafe new.release()
      }
    }
  }
}
