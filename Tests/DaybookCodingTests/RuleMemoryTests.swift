import Foundation
import Synchronization
import Testing

@testable import Daybook
@testable import DaybookCoding

// A rule has its effect or is refused, whatever was encoded before, and of whatever class an object is asked for as.

@Suite("what rules hide")
struct RuleMemoryTests {
  private func hasSecret(_ record: Record) -> Bool {
    record.keys.contains { key in
      switch record[key] as Record.Value? {
      case .string(let text)?: text.contains("SECRET")
      case .bytes(let data)?: String(decoding: data, as: UTF8.self).contains("SECRET")
      default: false
      }
    }
  }

  class Animal: RecordCodable {
    enum Keys: String, CodingKey { case name }
    var recordName: String { "a" }
    var name = "x"
    class var recordType: String { "Animal" }
    class var fieldRules: [String: FieldRule] { ["name": .encrypted] }

    init() {}
    required init(from decoder: any Decoder) throws {
      name = try decoder.container(keyedBy: Keys.self).decode(String.self, forKey: .name)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(name, forKey: .name)
    }
  }

  final class Dog: Animal {
    enum DogKeys: String, CodingKey { case chip }
    var chip = "SECRET"
    override class var fieldRules: [String: FieldRule] { ["name": .encrypted, "chip": .encrypted] }

    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      chip = try decoder.container(keyedBy: DogKeys.self).decode(String.self, forKey: .chip)
      try super.init(from: decoder)
    }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: DogKeys.self)
      try container.encode(chip, forKey: .chip)
    }
  }

  @Test("an object that was saved as one of its superclass lost the rules of its own class, and its secret was plain")
  func subclass() throws {
    let animals: [Animal] = [Dog(), Animal(), Dog()]
    for animal in animals {
      #expect(try !hasSecret(RecordEncoder().encode(animal)))
      #expect(try !RecordEncoder().encodeGraph(animal).contains { hasSecret($0) })
    }
    let record = try RecordEncoder().encode(animals[0])
    #expect(record.type == "Animal" && record.encryptedValues.keys.sorted() == ["chip", "name"])
    #expect(try RecordDecoder().decode(Animal.self, from: record).name == "x")
  }

  final class Cat: Animal {
    enum CatKeys: String, CodingKey { case toy }
    override class var fieldRules: [String: FieldRule] { ["super": .encrypted] }

    override init() {
      super.init()
      name = "SECRET"
    }
    required init(from decoder: any Decoder) throws { try super.init(from: decoder) }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CatKeys.self)
      try container.encode("mouse", forKey: .toy)
      try super.encode(to: encoder)
    }
  }

  @Test("a rule for super was accepted where the superclass has no field of its own")
  func superclass() throws {
    for _ in 0..<2 {
      let error = #expect(throws: RecordCodingError.self) { try RecordEncoder().encode(Cat()) }
      #expect(error?.code == .ruleWithoutKey && error?.facts.key == "super")
    }
  }

  /// Its rules are for its own keys alone.
  class Forgetful: Animal {
    enum CatKeys: String, CodingKey { case chip }
    var chip = "plain"
    class var key: String { "chip" }
    override class var fieldRules: [String: FieldRule] { [key: .encrypted] }
    var coding: (any Encoder) throws -> Void { super.encode(to:) }

    override init() {
      super.init()
      name = "SECRET"
    }
    required init(from decoder: any Decoder) throws { try super.init(from: decoder) }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CatKeys.self)
      try container.encode(chip, forKey: .chip)
      try coding(encoder)
    }
  }

  /// Encodes its superclass under a key of its own.
  class Apart: Forgetful {
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CatKeys.self)
      try container.encode(chip, forKey: .chip)
      try coding(container.superEncoder())
    }
  }

  final class Careful: Apart {
    override class var fieldRules: [String: FieldRule] { [key: .encrypted, "super": .encrypted] }
  }

  /// Does without what its superclass encodes, and says so.
  final class Alone: Forgetful {
    override class var fieldRules: [String: FieldRule] { [key: .encrypted, "super": .ignored] }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CatKeys.self)
      try container.encode(chip, forKey: .chip)
    }
  }

  /// Encodes its superclass under a key that only it knows.
  final class Elsewhere: Forgetful {
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CatKeys.self)
      try coding(container.superEncoder(forKey: .chip))
    }
  }

  /// Tells mirrors what it wants to.
  class Quiet: Animal, CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: [], ancestorRepresentation: .suppressed) }
  }

  final class Loud: Quiet {
    override class var fieldRules: [String: FieldRule] { [:] }
    override init() {
      super.init()
      name = "SECRET"
    }
    required init(from decoder: any Decoder) throws { try super.init(from: decoder) }
  }

  /// Says that it does without its superclass, and encodes it in its own place.
  final class Undecided: Forgetful {
    override class var fieldRules: [String: FieldRule] { [key: .encrypted, "super": .ignored] }
  }

  /// Has a property of that name, and encodes its superclass elsewhere.
  class Namesake: Animal {
    class var isBelowSuper: Bool { true }
    override class var fieldRules: [String: FieldRule] { ["name": .encrypted] }
    override init() {
      super.init()
      name = "SECRET"
    }
    required init(from decoder: any Decoder) throws { try super.init(from: decoder) }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Dog.DogKeys.self)
      var own = encoder.container(keyedBy: Keys.self)
      try own.encode("own", forKey: .name)
      try super.encode(to: try place(&container))
    }
    /// Where the superclass goes.
    func place(_ container: inout KeyedEncodingContainer<Dog.DogKeys>) throws -> any Encoder {
      Self.isBelowSuper ? container.superEncoder() : container.superEncoder(forKey: .chip)
    }
  }

  final class NamesakeInObject: Namesake {
    override func place(_ container: inout KeyedEncodingContainer<Dog.DogKeys>) throws -> any Encoder {
      var object = container.nestedContainer(keyedBy: Dog.DogKeys.self, forKey: .chip)
      return object.superEncoder()
    }
  }

  final class NamesakeInList: Namesake {
    override func place(_ container: inout KeyedEncodingContainer<Dog.DogKeys>) throws -> any Encoder {
      var list = container.nestedUnkeyedContainer(forKey: .chip)
      return list.superEncoder()
    }
  }

  class Toy: Codable {
    var weight = 1
    init() {}
  }

  final class Ball: Toy {
    enum Keys: String, CodingKey { case color }
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      try super.init(from: decoder.container(keyedBy: Keys.self).superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode("red", forKey: .color)
      try super.encode(to: container.superEncoder())
    }
  }

  /// Has an object with a superclass of its own.
  final class Playful: Animal {
    enum ToyKeys: String, CodingKey { case toy }
    override class var fieldRules: [String: FieldRule] { ["name": .encrypted, "toy": .flattened] }
    override init() {
      super.init()
      name = "SECRET"
    }
    required init(from decoder: any Decoder) throws { try super.init(from: decoder) }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: ToyKeys.self)
      try container.encode(Ball(), forKey: .toy)
    }
  }

  final class NamesakeBelowKey: Namesake {
    override class var isBelowSuper: Bool { false }
  }

  @Test("a secret of a superclass was plain where rules hid another place than the one it was encoded at")
  func elsewhere() throws {
    var flat = RecordCodingOptions()
    flat.nested = .flattened
    for options in [RecordCodingOptions(), flat] {
      let encoder = RecordEncoder(options: options)
      for animal in [Undecided(), Namesake(), NamesakeBelowKey(), NamesakeInObject(), NamesakeInList()] as [Animal] {
        for onto in [nil, try Record(type: "Animal", id: Record.ID("a"))] {
          let error = refusal { try onto.map { try encoder.encode(animal, onto: $0) } ?? encoder.encode(animal) }
          #expect(error?.code == .unsupportedValue && error?.path.last == "name", "\(animal) \(String(describing: error))")
        }
      }
      // A property's superclass is none of the record's.
      #expect(try !hasSecret(encoder.encode(Playful())))
    }
  }

  class Owner: RecordCodable {
    struct Home: Codable { var street = "SECRET" }
    enum Keys: String, CodingKey { case home }
    var recordName: String { "o" }
    var home = Home()
    class var recordType: String { "Owner" }
    class var fieldRules: [String: FieldRule] { ["home": .encrypted] }
    init() {}
    required init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(home, forKey: .home)
    }
  }

  final class Tenant: Owner {
    override class var fieldRules: [String: FieldRule] { ["home": .flattened] }
  }

  struct Stable: RecordCodable {
    var recordName = "s"
    var animal: Animal
    var animals: [Animal] = []
  }

  struct InItsPlace: RecordCodable {
    var recordName: String { "i" }
    var animal: Animal
    init(animal: Animal) { self.animal = animal }
    init(from decoder: any Decoder) throws { animal = try decoder.singleValueContainer().decode(Animal.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(animal)
    }
  }

  @Test("a class whose rules forgot what its superclass encrypts stored that in plain")
  func forgotten() throws {
    var flat = RecordCodingOptions()
    flat.nested = .flattened
    for options in [RecordCodingOptions(), flat] {
      let encoder = RecordEncoder(options: options)
      for animal in [Forgetful(), Apart(), Elsewhere(), Loud(), Forgetful(), Loud()] as [Animal] {
        let error = #expect(throws: RecordCodingError.self) { try encoder.encode(animal) }
        #expect(error?.code == .unsupportedValue && error?.path == ["name"] && error?.facts.key == "name")
        let onto = try Record(type: "Animal", id: Record.ID("a"))
        #expect(throws: RecordCodingError.self) { try encoder.encode(animal, onto: onto) }
        #expect(throws: RecordCodingError.self) { try encoder.encodeGraph(animal) }
        // Within another value nothing of it would be encrypted.
        #expect(throws: RecordCodingError.self) { try encoder.encode(Stable(animal: animal)) }
        #expect(throws: RecordCodingError.self) { try encoder.encode(InItsPlace(animal: animal)) }
        var stable = Stable(animal: Animal())
        stable.animals = [animal]
        #expect(throws: RecordCodingError.self) { try encoder.encode(stable) }
      }
      let error = #expect(throws: RecordCodingError.self) { try encoder.encode(Tenant()) }
      #expect(error?.path == ["home"])
      for animal in [Alone(), Dog()] as [Animal] { #expect(try !hasSecret(encoder.encode(animal))) }
    }
    #expect(try !hasSecret(RecordEncoder().encode(Careful())))
  }

  class Pet: RecordCodable {
    enum Keys: String, CodingKey { case name }
    var recordName: String { "p" }
    var name: String? = "SECRET"
    class var recordType: String { "Pet" }
    class var fieldRules: [String: FieldRule] { [:] }

    init() {}
    required init(from decoder: any Decoder) throws {
      name = try decoder.container(keyedBy: Keys.self).decodeIfPresent(String.self, forKey: .name)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encodeIfPresent(name, forKey: .name)
    }
  }

  class Hound: Pet {
    enum HoundKeys: String, CodingKey { case chip }
    override class var fieldRules: [String: FieldRule] { ["name": .encrypted] }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: HoundKeys.self)
      try container.encode(1, forKey: .chip)
    }
  }

  final class Whelp: Hound {}

  final class Puppy: Pet {
    override class var fieldRules: [String: FieldRule] { ["chip": .encrypted] }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: Hound.HoundKeys.self)
      try container.encode(1, forKey: .chip)
    }
  }

  struct Kennel: RecordEncodable {
    var recordName: String { "k" }
    var pets: [Pet]
  }

  @Test("a property that only the object's own class encrypts was lost when it was read as the superclass it was saved as")
  func onlyOwnClass() throws {
    let database = try Database.inMemory()
    for pet: Pet in [Hound(), Whelp()] {
      for _ in 0..<2 {
        let error = refusal { try RecordEncoder().encode(pet) }
        #expect(error?.code == .unsupportedValue && error?.path == ["name"], "\(String(describing: error))")
        #expect(throws: RecordCodingError.self) { try database.save(pet) }
        #expect(refusal { try RecordEncoder().encodeGraph(pet) }?.path == ["name"])
        #expect(refusal { try RecordEncoder().encodeGraph(Kennel(pets: [Pet(), pet])) }?.path == ["pets", "1", "name"])
      }
    }
    #expect(throws: RecordCodingError.self) { try RecordEncoder().encode(Whelp() as Hound as Pet, onto: Record(type: "Pet")) }
    // As itself it is read with its own rules; what the superclass does not read may be encrypted.
    let hound = try RecordEncoder().encode(Hound())
    #expect(try RecordDecoder().decode(Hound.self, from: hound).name == "SECRET" && !hasSecret(hound))
    let puppy = try RecordEncoder().encode(Puppy() as Pet)
    #expect(puppy.encryptedValues.keys == ["chip"])
    #expect(try RecordDecoder().decode(Pet.self, from: puppy).name == "SECRET")
    var options = RecordCodingOptions()
    options.rules = ["name": .encrypted]
    #expect(try !hasSecret(RecordEncoder(options: options).encode(Hound() as Pet)))
  }

  struct Person: RecordCodable {
    struct Home: Codable {
      var street = "s"
      var code = "SECRET"
    }
    static let fieldRules: [String: FieldRule] = ["home": .flattened, "home.code": .encrypted]
    var recordName = "p"
    var home = Home()
  }

  @Test("an encoder's own rule took the field of another rule away, once the type had been encoded without it")
  func ownRules() throws {
    var options = RecordCodingOptions()
    options.rules = ["home": .json]
    for _ in 0..<2 {
      let error = #expect(throws: RecordCodingError.self) { try RecordEncoder(options: options).encode(Person()) }
      #expect(error?.code == .ruleWithoutKey && error?.facts.key == "home.code")
      #expect(try !hasSecret(RecordEncoder().encode(Person())))
    }
  }

  struct Card: Codable {
    var name = "n"
    var pin = "SECRET"
  }

  struct Wallet: RecordCodable {
    enum Cards: Codable {
      case one(Card)
      case many([Card])

      init(from decoder: any Decoder) throws { self = .one(try Card(from: decoder)) }
      func encode(to encoder: any Encoder) throws {
        switch self {
        case .one(let card): try card.encode(to: encoder)
        case .many(let cards): try cards.encode(to: encoder)
        }
      }
    }
    static let fieldRules: [String: FieldRule] = ["cards": .flattened, "cards.pin": .encrypted]
    var recordName = "w"
    var cards: Cards
  }

  @Test("a list in the place of a flattened value had its secret in plain, once another value had been flattened")
  func listInstead() throws {
    for _ in 0..<2 {
      #expect(throws: RecordCodingError.self) { try RecordEncoder().encode(Wallet(cards: .many([Card()]))) }
      #expect(try !hasSecret(RecordEncoder().encode(Wallet(cards: .one(Card())))))
    }
  }

  struct Fickle: RecordCodable {
    static let key = Mutex("pin")
    static var fieldRules: [String: FieldRule] { [key.withLock { $0 }: .encrypted] }
    var recordName = "f"
    var pin = "SECRET"
  }

  @Test("rules that a type says otherwise later were not looked at again")
  func otherRules() throws {
    #expect(try !hasSecret(RecordEncoder().encode(Fickle())))
    Fickle.key.withLock { $0 = "pim" }
    let error = #expect(throws: RecordCodingError.self) { try RecordEncoder().encode(Fickle()) }
    #expect(error?.code == .ruleWithoutKey)
  }

  struct Writer: RecordCodable, Equatable {
    static let fieldRules: [String: FieldRule] = ["pin": .encrypted]
    var recordName = "w"
    var pin = "SECRET"
  }

  struct Work: RecordCodable, Equatable {
    var recordName = "k"
    var writer: Writer? = Writer()
    var others: [Writer] = []
    var named: [String: Writer] = [:]
  }

  @Test("a value that encrypts a property in records of its own had it plain within another record")
  func within() throws {
    for nested in [RecordCodingOptions.NestedStrategy.json, .flattened, .asset(.binaryPropertyList)] {
      var options = RecordCodingOptions()
      options.nested = nested
      for work in [Work(), Work(writer: nil, others: [Writer()]), Work(writer: nil, named: ["a": Writer()])] {
        let error = #expect(throws: RecordCodingError.self) { try RecordEncoder(options: options).encode(work) }
        #expect(error?.code == .unsupportedValue && error?.path.last == "pin")
      }
      #expect(try RecordEncoder(options: options).encode(Work(writer: nil)).type == "Work")
    }
    var options = RecordCodingOptions()
    options.rules = ["writer": .flattened, "writer.pin": .encrypted]
    #expect(try !hasSecret(RecordEncoder(options: options).encode(Work())))
    options.rules = ["writer": .encrypted, "others": .encrypted, "named": .encrypted]
    let work = Work(others: [Writer(), Writer()], named: ["a": Writer()])
    let record = try RecordEncoder(options: options).encode(work)
    #expect(!hasSecret(record))
    #expect(try RecordDecoder(options: options).decode(Work.self, from: record) == work)
    #expect(try !RecordEncoder().encodeGraph(Work()).contains { hasSecret($0) })
  }

  struct Vault: RecordEncodable {
    enum Keys: String, CodingKey { case secret }
    enum Inner: String, CodingKey { case owner }
    static let fieldRules: [String: FieldRule] = ["secret": .encrypted]
    var recordName: String { "v" }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      var secret = container.nestedContainer(keyedBy: Inner.self, forKey: .secret)
      try secret.encode(Writer(), forKey: .owner)
    }
  }

  final class Kitten: Animal {
    enum KittenKeys: String, CodingKey { case toy }
    override class var fieldRules: [String: FieldRule] { ["super": .ignored] }
    override init() { super.init() }
    required init(from decoder: any Decoder) throws { try super.init(from: decoder) }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: KittenKeys.self)
      try container.encode("mouse", forKey: .toy)
      try super.encode(to: container.superEncoder())
    }
  }

  @Test("what lies under an encrypted or ignored key passes, however it is encoded")
  func hiddenPlaces() throws {
    let record = try RecordEncoder().encode(Vault())
    #expect(!hasSecret(record) && record.encryptedValues.keys == ["secret"])
    var options = RecordCodingOptions()
    options.rules = ["writer": .flattened, "writer.pin": .ignored]
    #expect(try !hasSecret(RecordEncoder(options: options).encode(Work())))
    #expect(try RecordEncoder().encode(Kitten()).keys == ["toy"])
  }
}
