import DaybookEngine
import Foundation

@testable import Daybook

/// A transaction that saves a record and keeps the turn until it is told to end. It ends by itself after ten minutes, so that a
/// test fails whose calls wait for it; a machine that is busy with other tests takes seconds for what these calls do.
final class HeldTransaction: Sendable {
  private let mayEnd = Monitor()
  private let state = Locked((hasTurn: false, isDone: false))

  init(_ database: Database) {
    let thread = Thread { [self] in
      _ = try? database.write { transaction in
        try transaction.save(.fresh("slow"))
        state.withLock { $0.hasTurn = true }
        mayEnd.lock()
        while !isDone { mayEnd.wait() }
        mayEnd.unlock()
      }
    }
    thread.start()
    let timer = Thread { [weak self] in
      Thread.sleep(forTimeInterval: 600)
      self?.end()
    }
    timer.start()
  }

  var hasTurn: Bool { state.withLock { $0.hasTurn } }
  var isDone: Bool { state.withLock { $0.isDone } }

  func end() {
    mayEnd.withLock {
      state.withLock { $0.isDone = true }
      mayEnd.broadcast()
    }
  }
}
