import Daybook
import DaybookTesting
import Notes
import Testing

@Test("whenever the power fails, the list shows as many words as the notes have")
func powerLoss() throws {
  for change in 1... {
    let disk = SimulatedDisk()
    disk.losePower(atChange: change)
    var added: [String] = []
    do {
      let notebook = try Notebook(Database.open(at: "/notes.daybook", on: disk))
      for text in ["buy milk", "call the bank on Monday"] {
        try notebook.add(text)
        added.append(text)
      }
    } catch {}  // the power went
    for seed: UInt64 in 0..<4 {
      let found = try Notebook(Database.open(at: "/notes.daybook", on: disk.afterPowerLoss(seed: seed)))
      let texts = try found.texts
      #expect(Set(texts).isSuperset(of: added), "change \(change), seed \(seed)")
      #expect(try found.shownWordCount == texts.reduce(0) { $0 + Notebook.wordCount(of: $1) })
    }
    if !disk.hasLostPower { break }
  }
}
