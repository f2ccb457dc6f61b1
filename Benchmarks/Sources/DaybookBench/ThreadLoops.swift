import Foundation

/// Runs the same loop on several threads over parts of a range; throws the first error.
func onThreads(
  _ threadCount: Int, over numbers: Range<UInt64>, _ body: @escaping @Sendable (Range<UInt64>) throws -> Void
) throws {
  if threadCount == 1 { return try body(numbers) }
  let failures = Failures()
  let group = DispatchGroup()
  let total = numbers.upperBound - numbers.lowerBound
  for index in 0..<UInt64(threadCount) {
    let lower = numbers.lowerBound + total * index / UInt64(threadCount)
    let upper = numbers.lowerBound + total * (index + 1) / UInt64(threadCount)
    group.enter()
    Thread.detachNewThread {
      do { try body(lower..<upper) } catch { failures.add(error) }
      group.leave()
    }
  }
  group.wait()
  if let first = failures.first { throw first }
}

final class Failures: @unchecked Sendable {
  private let lock = NSLock()
  private var errors: [any Error] = []
  func add(_ error: any Error) { lock.withLock { errors.append(error) } }
  var first: (any Error)? { lock.withLock { errors.first } }
}

/// What several threads add up.
final class Sums: @unchecked Sendable {
  private let lock = NSLock()
  private var sum: UInt64 = 0
  func add(_ value: UInt64) { lock.withLock { sum &+= value } }
  var total: UInt64 { lock.withLock { sum } }
}
