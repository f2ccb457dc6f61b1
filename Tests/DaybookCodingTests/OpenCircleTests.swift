import Daybook
import DaybookCoding
import Testing

// A value that cannot be made while others are being made is asked for again once they are.

@Suite("circles that are open")
struct OpenCircleTests {
  private final class Step: RecordDecodable {
    static var recordType: String { "Step" }
    let id: String
    let next: Step?
    /// Nil where it cannot be made.
    let last: Last?
    enum CodingKeys: CodingKey { case id, next, last }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decode(String.self, forKey: .id)
      next = try container.decodeIfPresent(Step.self, forKey: .next)
      last = try? container.decode(Last.self, forKey: .last)
    }
  }

  private final class Last: RecordDecodable {
    static var recordType: String { "Last" }
    /// Never nil: it cannot be made while the step is.
    let back: Step
    enum CodingKeys: CodingKey { case back }
    init(from decoder: any Decoder) throws {
      back = try decoder.container(keyedBy: CodingKeys.self).decode(Step.self, forKey: .back)
    }
  }

  private struct Root: RecordDecodable {
    static var recordType: String { "Root" }
    var first: Step
    var last: Last
  }

  @Test(
    "a record that could not be made within a circle was missing outside of it, where the circle was long",
    arguments: [2, 29, 30, 31, 32, 33, 40, 70])
  func outside(count: Int) throws {
    var records: [Record] = []
    func reference(_ name: String) throws -> Record.Reference { Record.Reference(try Record.ID(name)) }
    for number in 1...count {
      var record = try Record(type: "Step", id: Record.ID("\(number)"))
      record["id"] = "\(number)"
      if number < count { record["next"] = try reference("\(number + 1)") } else { record["last"] = try reference("last") }
      records.append(record)
    }
    var last = try Record(type: "Last", id: Record.ID("last"))
    last["back"] = try reference("1")
    var root = try Record(type: "Root", id: Record.ID("root"))
    root["first"] = try reference("1")
    root["last"] = try reference("last")
    let value = try RecordDecoder().decodeGraph(Root.self, from: records + [last, root])
    #expect(value.last.back === value.first && value.first.id == "1")
    var step = value.first
    while let next = step.next { step = next }
    #expect(step.id == "\(count)" && step.last == nil)
  }

  private final class Person: RecordDecodable {
    static var recordType: String { "Person" }
    /// Nil where it cannot be made.
    let team: Team?
    enum CodingKeys: CodingKey { case team }
    init(from decoder: any Decoder) throws {
      team = try? decoder.container(keyedBy: CodingKeys.self).decode(Team.self, forKey: .team)
    }
  }

  private final class Team: RecordDecodable {
    static var recordType: String { "Team" }
    let members: [Person]
    enum CodingKeys: CodingKey { case members }
    init(from decoder: any Decoder) throws {
      members = try decoder.container(keyedBy: CodingKeys.self).decode([Person].self, forKey: .members)
    }
  }

  private struct Company: RecordDecodable {
    static var recordType: String { "Company" }
    var people: [Person]
    var team: Team
  }

  @Test("a record that could not be made beside any of many others was not made after them", arguments: [3, 31, 32, 33, 100])
  func many(count: Int) throws {
    let team = Record.Reference(try Record.ID("team"))
    var records: [Record] = []
    var people: [Record.Reference] = []
    for number in 1...count {
      var record = try Record(type: "Person", id: Record.ID("\(number)"))
      record["team"] = team
      records.append(record)
      people.append(Record.Reference(record.id))
    }
    var members = try Record(type: "Team", id: Record.ID("team"))
    members["members"] = people
    var company = try Record(type: "Company", id: Record.ID("company"))
    company["people"] = people
    company["team"] = team
    let value = try RecordDecoder().decodeGraph(Company.self, from: records + [members, company])
    #expect(value.people.count == count && value.team.members.count == count)
    #expect(value.team.members.first === value.people.first && value.team.members.last === value.people.last)
  }
}
