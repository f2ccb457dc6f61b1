import DaybookTesting
import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

// Texts and values that nest without end, on the small stack of a thread in the background.

@Suite("predicates on small stacks", .timeLimit(.minutes(15)))
struct PredicateStackTests {
  private final class Outcome: @unchecked Sendable {
    var failures: [String] = []
    func check(_ holds: Bool, _ what: @autoclosure () -> String) { if !holds { failures.append(what()) } }
  }

  /// What threads in the background have on Apple's systems.
  private func onSmallStack(_ body: @escaping @Sendable (Outcome) throws -> Void) -> [String] {
    let outcome = Outcome()
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      do { try body(outcome) } catch { outcome.failures.append("\(error)") }
      done.signal()
    }
    thread.stackSize = 512 * 1024
    thread.start()
    done.wait()
    return outcome.failures
  }

  private static let message = "The predicate is nested too deeply."

  /// Everything that calls itself, begun without end.
  private static let hostile = [
    "(", "NOT ", "!", "NOT(", "a = CAST(", "a = tokenize(", "tokenize:using:(", "a = location(", "a = reference(",
    "distanceToLocation:fromLocation:(", "a IN {CAST({", "a IN {location(", "ANY CAST(", "a BETWEEN {tokenize(",
    "a = location(1,", "a = reference('n',", "a = CAST({},", "ANY distanceToLocation:fromLocation:(ANY tokenize('a',",
    "(tokenize(",
  ]

  @Test("a predicate's text that begins a hundred thousand functions is refused with the limit, and the program goes on")
  func hostileTexts() {
    let failures = onSmallStack { outcome in
      for piece in Self.hostile {
        // The first level is a comparison's, those inside are what it has in common with them.
        let inner = piece.split(separator: " ").last.map(String.init) ?? piece
        for text in [String(repeating: piece, count: 100_000), piece + String(repeating: inner, count: 100_000)] {
          do throws(DatabaseError) {
            _ = try Query.Predicate(format: text)
            outcome.failures.append("read: \(piece)")
          } catch {
            // Some pieces fit into no other; then that is what is said.
            let isTooDeep = error.message == Self.message && error.facts.limit == PredicateParser.maximumNesting
            outcome.check(isTooDeep || error.message != Self.message && error.code == .invalidArguments, "\(piece): \(error)")
          }
        }
      }
      for opening in ["(", "NOT (", "a = CAST(", "a = location(", "a IN {CAST({"] {
        let inner = opening.replacing("a = ", with: "").replacing("a IN ", with: "")
        let error = failure { try Query.Predicate(format: opening + String(repeating: inner, count: 100_000)) }
        outcome.check(error?.message == Self.message, "\(opening): \(String(describing: error))")
        outcome.check(error?.facts.limit == PredicateParser.maximumNesting, "\(opening): \(String(describing: error))")
      }
    }
    #expect(failures == [])
  }

  @Test("a saved query or subscription whose predicate nests without end is refused when it is decoded")
  func decoded() {
    let failures = onSmallStack { outcome in
      let text = "a = " + String(repeating: "CAST(", count: 50_000)
      let predicate = Data("\"\(text)\"".utf8)
      var error: (any Error)?
      do { _ = try JSONDecoder().decode(Query.Predicate.self, from: predicate) } catch let found { error = found }
      guard case .dataCorrupted(let what) = error as? DecodingError else {
        return outcome.failures.append("\(String(describing: error))")
      }
      outcome.check((what.underlyingError as? DatabaseError)?.facts.limit != nil, "\(what)")
    }
    #expect(failures == [])
  }

  @Test("the deepest predicate that is taken is read, printed, compiled, evaluated, hashed and released on a small stack")
  func deepest() {
    let failures = onSmallStack { outcome in
      let place = Location(latitude: 1, longitude: 2, altitude: .infinity)
      let innermost: Query.Predicate = .field("place").near(place, within: 5)
      var predicate = innermost
      for level in 0..<Query.Predicate.maximumDepth {
        predicate = level % 3 == 0 ? predicate && .field("b") == 1 : level % 3 == 1 ? predicate || .field("c") == 2 : !predicate
      }
      outcome.check(predicate.fault == nil && !predicate.isTooDeep, "\(predicate)")
      let text = predicate.description
      let again = try Query.Predicate(format: text)
      outcome.check(again == predicate && again.hashValue == predicate.hashValue, text)
      let decoded = try JSONDecoder().decode(Query.Predicate.self, from: JSONEncoder().encode(predicate))
      outcome.check(decoded == predicate, text)
      let record = try Record(
        type: "Note", id: Record.ID("n"), metadata: .init(changeTag: "t", creationDate: Date(), modificationDate: Date()),
        values: ["b": 1])
      let filter = BodyFilter(predicate, dialect: .extended, now: Date())
      outcome.check(filter.accepts(record.body) == predicate.matches(record), text)
      let parentheses = String(repeating: "(", count: PredicateParser.maximumNesting - 1)
      let deep = parentheses + "a = 1" + parentheses.replacing("(", with: ")")
      outcome.check(try Query.Predicate(format: deep) == (.field("a") == 1), "parentheses")
    }
    #expect(failures == [])
  }

  @Test("a predicate that was put together too deeply is refused by a query and a subscription, with the limit")
  func values() throws {
    let database = try Database.scratch()
    var predicate: Query.Predicate = .field("a") == 1
    for level in 0..<100_000 { predicate = level % 2 == 0 ? predicate && .field("b") == 1 : predicate || .field("c") == 2 }
    let query = Query("Note", where: predicate)
    let errors = [
      failure { try database.query(query) },
      failure { try database.write { try $0.save(Subscription("s", to: query)) } },
    ]
    for error in errors {
      #expect(error?.message == Self.message && error?.facts.limit == Query.Predicate.maximumDepth)
    }
    #expect(throws: DatabaseError.self) { try JSONEncoder().encode(predicate) }
  }
}
