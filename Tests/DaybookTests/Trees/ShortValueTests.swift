import DaybookTesting
import Testing

@testable import Daybook
@testable import DaybookEngine

// Values of trees and stamps of images take as many bytes as they need, and come back as they were.

@Suite("short values")
struct ShortValueTests {
  private static let numbers: [UInt64] = {
    var numbers: [UInt64] = [.max]
    for bit in 0..<64 as Range<UInt64> {
      let power: UInt64 = 1 << bit
      numbers += [power - 1, power, power &+ 1]
    }
    return numbers
  }()

  @Test("a number of any width is read back, and has the fewest bytes")
  func widths() {
    let buffer = ByteBuffer(capacity: 8)
    for number in Self.numbers {
      let byteCount = PackedPlace.shortestByteCount(number)
      #expect(byteCount == max(1, (64 - number.leadingZeroBitCount + 7) / 8))
      buffer.truncate(to: 0)
      buffer.append(7)
      buffer.append(number: number, byteCount: byteCount)
      #expect(buffer.count == 1 + byteCount && buffer.view.number(at: 1, byteCount: byteCount) == number)
    }
  }

  @Test("entries of records and changes come back as they were, and bytes that are none are refused")
  func entries() throws {
    var generator = SeededGenerator(seed: 1)
    let buffer = ByteBuffer(capacity: 32)
    func any(_ bits: UInt64) -> UInt64 { generator.next() >> (64 - UInt64.random(in: 1...bits, using: &generator)) }
    for _ in 0..<5000 {
      var entry = RecordEntry(
        place: Place(offset: any(64), byteCount: UInt32(any(32))), sequence: any(64), ordinal: UInt32(any(30)))
      entry.contributes = Bool.random(using: &generator)
      buffer.truncate(to: 0)
      entry.append(to: buffer)
      let bytes = buffer.view.array
      let found = try #require(bytes.withView { RecordEntry($0) })
      #expect(found.place == entry.place && found.sequence == entry.sequence)
      #expect(found.ordinal == entry.ordinal && found.contributes == entry.contributes)
      buffer.truncate(to: 0)
      ChangeEntry.append(entry.place, isDeleted: entry.contributes, to: buffer)
      let change = try #require(ChangeEntry(buffer.view))
      #expect(change.place == entry.place && change.isDeleted == entry.contributes)
      #expect(ChangeEntry(buffer.view.prefix(buffer.count - 1)) == nil && (bytes + [1]).withView { ChangeEntry($0) } == nil)
      for count in 0..<min(bytes.count, 4) { #expect(Array(bytes.prefix(count)).withView { RecordEntry($0) } == nil) }
    }
    #expect([UInt8](repeating: 0xFF, count: 40).withView { RecordEntry($0) } == nil)
  }

  @Test("stamps come back as they were, those of neighbours in two bytes")
  func stamps() {
    var generator = SeededGenerator(seed: 2)
    let buffer = ByteBuffer(capacity: 64)
    for round in 0..<200 {
      var stamps: [(UInt64, UInt32)] = []
      for number in 0..<100 as Range<UInt32> {
        switch round % 3 {
        case 0: stamps.append((5, number))
        case 1: stamps.append((UInt64.random(in: 1...2000, using: &generator), UInt32.random(in: 0..<1000, using: &generator)))
        default:
          stamps.append(
            (UInt64.random(in: 0...UInt64.max, using: &generator), UInt32.random(in: 0...UInt32.max, using: &generator)))
        }
      }
      buffer.truncate(to: 0)
      var writer = ImageStamp()
      for stamp in stamps { writer.move(to: stamp.0, stamp.1, appendingTo: buffer) }
      if round % 3 == 0 { #expect(buffer.count == 200) }
      if round % 3 == 1 { #expect(buffer.count <= 400) }
      var reader = ImageStamp()
      var offset = 0
      for stamp in stamps {
        #expect(reader.read(buffer.view, at: &offset) && reader.sequence == stamp.0 && reader.ordinal == stamp.1)
      }
      #expect(offset == buffer.count)
    }
    var offset = 0
    var reader = ImageStamp()
    // An ordinal below zero, one above 32 bits, and half a stamp.
    #expect(!([2, 1] as [UInt8]).withView { reader.read($0, at: &offset) })
    (offset, reader) = (0, ImageStamp())
    #expect(!([2, 0x80, 0x80, 0x80, 0x80, 0x20] as [UInt8]).withView { reader.read($0, at: &offset) })
    (offset, reader) = (0, ImageStamp())
    #expect(!([2] as [UInt8]).withView { reader.read($0, at: &offset) })
  }
}
