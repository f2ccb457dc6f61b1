import Foundation
import Testing

@testable import Daybook
@testable import DaybookEngine

@Suite("kinds of operations")
struct OperationKindTests {
  @Test("the numbers in the log are those that the page on the format lists")
  func numbers() throws {
    let page = try Pages.text(of: "FORMAT.md")
    let begin = try #require(page.range(of: "\n## 4 Operations\n"))
    let end = try #require(page.range(of: "\n## 5 ", range: begin.upperBound..<page.endIndex))
    let numbers = page[begin.upperBound..<end.lowerBound].matches(of: /(?m)^\| ([0-9]+) \|/).compactMap { UInt8($0.1) }
    // The last one is the engine's own.
    #expect(numbers.dropLast() == OperationKind.allCases.map(\.rawValue)[...] && numbers.last == 255)
  }

  @Test("a kind that is not known is passed over from 128 to 254, and refused with its number elsewhere")
  func unknown() throws {
    for number in UInt8.min...UInt8.max where !OperationKind.allCases.contains(where: { $0.rawValue == number }) {
      if OperationKind.skippable.contains(number) {
        #expect(try OperationKind(number: number) == nil)
      } else {
        #expect(throws: LogFault.unknownOperation(kind: number)) { try OperationKind(number: number) }
      }
    }
  }
}
