import Daybook
import Foundation
import Notes
import Testing

@Suite("notes", .timeLimit(.minutes(15)))
struct NotesTests {
  private func notebook() async throws -> Notebook { try await Notebook(Database.inMemory()) }

  @Test("a note comes back with all that it has, and an edit changes what it changes")
  func noteAndEdit() async throws {
    let notebook = try await notebook()
    var note = Note(title: "Shopping", text: "milk")
    note.tags = ["food", "today"]
    note.priority = .high
    note.link = URL(string: "https://example.org/shop")
    let added = try await notebook.add(note)
    #expect(added.modified != nil && added.tags == note.tags && added.link == note.link && added.priority == .high)
    let edited = try await notebook.edit(note.id) { $0.text += ", bread" }
    #expect(edited?.text == "milk, bread" && edited?.tags == note.tags)
    try await notebook.remove(note.id)
    let rest = try await notebook.notes
    #expect(rest.isEmpty)
  }

  @Test("ten edits at once are ten edits")
  func concurrentEdits() async throws {
    let notebook = try await notebook()
    let note = try await notebook.add(Note(title: "Tags"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<10 { group.addTask { _ = try await notebook.edit(note.id) { $0.tags.insert("tag \(number)") } } }
      try await group.waitForAll()
    }
    let notes = try await notebook.notes
    #expect(notes.first?.tags.count == 10)
  }

  @Test("the list hears of every change")
  func updates() async throws {
    let notebook = try await notebook()
    var lists = notebook.updates().makeAsyncIterator()
    let empty = try await lists.next()
    #expect(empty?.isEmpty == true)
    let note = try await notebook.add(Note(title: "a"))
    while let list = try await lists.next() { if list.map(\.title) == ["a"] { break } }
    try await notebook.edit(note.id) { $0.title = "b" }
    while let list = try await lists.next() { if list.map(\.title) == ["b"] { break } }
  }
}

@Suite("two devices and a server", .timeLimit(.minutes(15)))
struct SynchronizerTests {
  private let phone, laptop, server: Notebook

  init() async throws {
    phone = try await Notebook(Database.inMemory())
    laptop = try await Notebook(Database.inMemory())
    server = try await Notebook(Database.inMemory())
  }

  private func syncAll() async throws {
    for device in [phone, laptop, phone, laptop] { try await Synchronizer(device, with: server).sync() }
  }

  private func titles(_ notebook: Notebook) async throws -> [String] { try await notebook.notes.map(\.title) }

  @Test("what one adds the others have; what is in step is not sent again")
  func addition() async throws {
    try await phone.add(Note(title: "a"))
    try await laptop.add(Note(title: "b"))
    try await syncAll()
    for notebook in [phone, laptop, server] {
      let titles = try await titles(notebook)
      #expect(titles == ["a", "b"])
    }
    for device in [phone, laptop] {
      let (sent, fetched) = try await Synchronizer(device, with: server).sync()
      #expect(sent == 0 && fetched == 0)
    }
  }

  @Test("changes of two keys of one note are both kept, on both devices; a value that was removed is gone")
  func merge() async throws {
    var note = Note(title: "a", text: "one")
    note.link = URL(string: "https://example.org")
    let id = try await phone.add(note).id
    try await syncAll()
    try await phone.edit(id) { $0.text = "two" }
    try await laptop.edit(id) { note in
      note.title = "b"
      note.link = nil
    }
    try await syncAll()
    for notebook in [phone, laptop, server] {
      let notes = try await notebook.notes
      #expect(notes.map(\.title) == ["b"] && notes.first?.text == "two" && notes.first?.link == nil)
    }
  }

  @Test("a note that is deleted goes everywhere, and one that was changed meanwhile stays")
  func deletion() async throws {
    let gone = try await phone.add(Note(title: "gone"))
    let kept = try await phone.add(Note(title: "kept"))
    try await syncAll()
    try await phone.remove(gone.id)
    try await phone.remove(kept.id)
    try await laptop.edit(kept.id) { $0.text = "changed" }
    try await Synchronizer(laptop, with: server).sync()
    try await syncAll()
    for notebook in [phone, laptop, server] {
      let titles = try await titles(notebook)
      #expect(titles == ["kept"])
    }
  }

  @Test("five hundred random changes on two devices end in the same notes everywhere", arguments: 0..<4)
  func random(seed: Int) async throws {
    var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    for step in 0..<500 {
      let device = next(2) == 0 ? phone : laptop
      let notes = try await device.notes
      switch next(8) {
      case 0, 1: try await device.add(Note(title: "note \(step)"))
      case 2 where !notes.isEmpty: try await device.remove(notes[next(notes.count)].id)
      case 3: try await Synchronizer(device, with: server).sync()
      default:
        guard !notes.isEmpty else { continue }
        let isText = next(2) == 0
        try await device.edit(notes[next(notes.count)].id) { note in
          if isText { note.text = "text \(step)" } else { note.tags.insert("tag \(step % 5)") }
        }
      }
    }
    try await syncAll()
    let (a, b, c) = (try await phone.notes, try await laptop.notes, try await server.notes)
    func plain(_ notes: [Note]) -> [String] { notes.map { "\($0.id) \($0.title) \($0.text) \($0.tags.sorted())" } }
    #expect(!a.isEmpty && plain(a) == plain(c) && plain(b) == plain(c))
    for notebook in [phone, laptop, server] { #expect(try notebook.database.isSound) }
  }
}

extension Database {
  /// What the checker says of the whole file.
  fileprivate var isSound: Bool { get throws { try check(.deep).isClean } }
}
