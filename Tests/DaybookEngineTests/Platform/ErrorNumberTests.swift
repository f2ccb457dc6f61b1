import Testing

@testable import DaybookEngine

// What the engine makes of an errno.

@Suite("Error numbers")
struct ErrorNumberTests {
  @Test("a sync that failed is not tried in another way, but one that the volume does not know is")
  func unknownCommands() {
    for code in [ErrorNumber.invalid, ErrorNumber.unsupported, ErrorNumber.noSuchCommand] {
      #expect(ErrorNumber.meansUnknownCommand(code))
    }
    for code in [ErrorNumber.inputOutput, ErrorNumber.noSpace, ErrorNumber.badDescriptor, ErrorNumber.interrupted] {
      #expect(!ErrorNumber.meansUnknownCommand(code))
    }
  }
}
