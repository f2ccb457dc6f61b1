import Foundation
import Testing

import Daybook
import DaybookTesting

// The code of the page of DaybookTesting, as it stands there. What lies between the marks below is compared with its text.

@Suite("Sources/DaybookTesting/README.md")
struct PageTests {
  // swift-format-ignore
  @Test("the ten lines do what the page says")
  func powerLoss() throws {
    // Page: power loss
    let disk = SimulatedDisk()
    let book = try Database.open(at: "/notes.daybook", on: disk)
    try book.write { transaction in
      try transaction.save(Record(type: "Note", id: Record.ID("first")))
    }

    let after = disk.afterPowerLoss(seed: 1)                       // a disk as it may be found: unsynced writes gone, torn or kept
    let again = try Database.open(at: "/notes.daybook", on: after)
    #expect(try again.record(Record.ID("first")) != nil)           // write returned, so it is there
    // Page: end
  }

  /// An application's code, which saves two records that belong together.
  private struct Notes {
    let database: Database
    init(on disk: SimulatedDisk) throws { database = try Database.open(at: "/notes.daybook", on: disk) }
    func add(_ name: String) throws {
      try database.write { transaction in
        try transaction.save(Record(type: "Note", id: Record.ID(name)))
        try transaction.save(Record(type: "Entry", id: Record.ID("entry-\(name)")))
      }
    }
    var isWhole: Bool {
      get throws {
        try database.recordCount(in: .default, ofType: "Note") == database.recordCount(in: .default, ofType: "Entry")
      }
    }
  }

  // swift-format-ignore
  @Test("the loop over all moments ends, and finds the notes whole")
  func anyMoment() throws {
    // Page: any moment
    for change in 1... {                                           // the first change fails, then the second one …
      let disk = SimulatedDisk()
      disk.losePower(atChange: change)
      do {
        let notes = try Notes(on: disk)                            // the application's own code
        try notes.add("first")
        try notes.add("second")
      } catch {}                                                   // the power went
      let after = disk.afterPowerLoss(seed: UInt64(change))
      #expect(try Notes(on: after).isWhole, "power lost at change \(change)")
      if !disk.hasLostPower { break }                              // it came to its end: every moment was tried
    }
    // Page: end
  }

  // swift-format-ignore
  @Test("the full and the failing disk do what the page says")
  func failing() throws {
    // Page: failing
    let disk = SimulatedDisk()
    let book = try Database.open(at: "/notes.daybook", on: disk)
    var photo = try Record(type: "Photo", id: Record.ID("photo"))
    photo["image"] = Asset(data: Data(count: 1_000_000))

    disk.freeByteCount = 100_000                                   // bytes; nil lifts the limit
    do { try book.write { transaction in try transaction.save(photo) } } catch let error as DatabaseError {
      #expect(error.code == .diskFull)                             // nothing of it is there, and the database goes on
    }
    disk.freeByteCount = nil

    disk.fail(.sync)                                               // the next one, once; also number: 3, forever: true
    do { try book.write { transaction in try transaction.save(photo) } } catch let error as DatabaseError {
      #expect(error.code == .ioFailed || error.code == .outcomeUnknown)
    }
    disk.stopFailing()
    // Page: end
  }

  @Test("the page has these samples, letter by letter")
  func samples() throws {
    let file = URL(filePath: #filePath)
    let root = file.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "Sources/DaybookTesting/README.md"), encoding: .utf8)
    var sample: [Substring]?
    var count = 0
    for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.drop { $0 == " " }
      if words == "// Page: end" {
        let text = (sample ?? []).map { String($0.dropFirst(4)) }.joined(separator: "\n")
        #expect(page.contains("```swift\n\(text)\n```"), "\(text)")
        count += 1
        sample = nil
      } else if words.hasPrefix("// Page: ") {
        sample = []
      } else {
        sample?.append(line)
      }
    }
    #expect(count == 3)
  }
}
