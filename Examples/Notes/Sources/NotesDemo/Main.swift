import Foundation
import Notes

/// Two devices and a server, in three files of a directory that goes away: `swift run NotesDemo`.
@main
enum Main {
  static func main() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "notes-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let phone = try await Notebook.open(at: directory + "/phone/notes.daybook")
    let laptop = try await Notebook.open(at: directory + "/laptop/notes.daybook")
    let server = try await Notebook.open(at: directory + "/server/notes.daybook")

    let milk = try await phone.add(Note(title: "Shopping", text: "milk"))
    try await Synchronizer(phone, with: server).sync()
    try await Synchronizer(laptop, with: server).sync()
    print("the laptop has", try await laptop.notes.map(\.title))

    // Both change the same note before they meet again.
    try await phone.edit(milk.id) { $0.text = "milk, bread" }
    try await laptop.edit(milk.id) { $0.tags.insert("today") }
    for device in [phone, laptop, phone] { try await Synchronizer(device, with: server).sync() }
    for (name, device) in [("phone", phone), ("laptop", laptop)] {
      for note in try await device.notes { print("the \(name) has \(note.title): \(note.text) \(note.tags.sorted())") }
    }
  }
}
