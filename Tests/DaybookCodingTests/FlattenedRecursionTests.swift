import Daybook
import DaybookCoding
import Foundation
import Synchronization
import Testing

@Suite("flattened values of recursive types")
struct FlattenedRecursionTests {
  /// Tries its keys, as types do that take what they find.
  final class Branch: Codable {
    var name = ""
    var left: Branch?
    var right: Branch?
    static let made = Atomic(0)

    enum CodingKeys: String, CodingKey { case name, left, right }

    init(name: String) { self.name = name }

    init(from decoder: any Decoder) throws {
      let made = Branch.made.add(1, ordering: .relaxed).newValue
      // Else a mistake would never end.
      if made > 10_000 { return }
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = (try? container.decode(String.self, forKey: .name)) ?? ""
      left = try? container.decode(Branch.self, forKey: .left)
      right = try? container.decode(Branch.self, forKey: .right)
    }
  }

  struct Plant: RecordCodable {
    var id: String
    var root: Branch
    static let recordNameKey = "id"
  }

  @Test("a type that tries its keys is decoded in a few steps, and comes back as it was")
  func few() throws {
    for isFlattened in [false, true] { try few(isFlattened: isFlattened) }
  }

  private func few(isFlattened: Bool) throws {
    var options = RecordCodingOptions()
    if isFlattened { options.nested = .flattened }
    let root = Branch(name: "root")
    root.left = Branch(name: "left")
    root.left?.right = Branch(name: "deep")
    let record = try RecordEncoder(options: options).encode(Plant(id: "p", root: root))
    Branch.made.store(0, ordering: .relaxed)
    let plant = try RecordDecoder(options: options).decode(Plant.self, from: record)
    #expect(Branch.made.load(ordering: .relaxed) < 100)
    #expect(plant.root.name == "root" && plant.root.left?.name == "left" && plant.root.left?.right?.name == "deep")
    #expect(plant.root.right?.name ?? "" == "")
  }
}
