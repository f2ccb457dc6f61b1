import DaybookEngine

/// What all processes have tried to commit, each on top of what it found, and which commits were promised.
///
/// Each transaction writes its number as metadata, so that a reader of the database knows which commit it shows. The naive
/// model knows what that commit holds and on which other it is based: a tree, of which the promises allow one branch only.
///
///     0 ─ 1 ─ 2 ─ 4 ─ 5        2 and 4 acknowledged: whatever anybody sees from now on stands on 4
///             └─ 3             3 failed, and nobody may ever see it
///
/// Always true: `durable` is a commit that is there after any power loss; `present` one that is there after any kill.
final class ProcessHistory {
  enum Outcome { case underWay, acknowledged, unknown, refused }

  struct Attempt {
    let parent: Int
    let sequence: Int
    var state: CrashState
    let writer: Int
    var outcome = Outcome.underWay
  }

  private(set) var attempts = [Attempt(parent: 0, sequence: 0, state: CrashState(), writer: -1, outcome: .acknowledged)]
  /// The newest commit that is promised for good, because its `write` has returned or because it was shown.
  private(set) var durable = 0
  /// The newest commit whose `write` has returned.
  private(set) var present = 0
  /// How often more was promised.
  private(set) var promiseCount = 0
  /// A process has had the database open: a kill leaves the file.
  private(set) var wasCreated = false
  /// A power loss leaves it, too: its creator has returned, or something was promised.
  private var isNameDurable = false
  private var openCount = 0
  private var opensUnderWay = 0
  /// A change tag stands for one version of one record.
  private var versions: [String: Int64] = [:]

  /// A transaction begins on what it found.
  func begin(on parent: Int, writer: Int) -> Int {
    attempts.append(
      Attempt(
        parent: parent, sequence: attempts[parent].sequence + 1, state: attempts[parent].state, writer: writer))
    return attempts.count - 1
  }

  /// The transaction has finished its changes.
  func confirm(_ number: Int, _ state: CrashState) {
    attempts[number].state = state
    attempts[number].state.step = Int64(number)
  }

  func end(_ number: Int, _ outcome: Outcome) { attempts[number].outcome = outcome }

  func stands(_ number: Int, on ancestor: Int) -> Bool {
    var number = number
    while number > ancestor { number = attempts[number].parent }
    return number == ancestor
  }

  /// A `write` has returned. At `.relaxed` only a kill must leave it.
  func acknowledge(_ number: Int, isDurable: Bool) throws {
    attempts[number].outcome = .acknowledged
    if isDurable { try promise(number, "commit \(number) was acknowledged") }
    guard stands(number, on: present) || stands(present, on: number) else {
      throw CrashDeviation("commit \(number) was acknowledged beside commit \(present), which does not stand on it")
    }
    if stands(number, on: present) { present = number }
  }

  /// From now on the commit is there whatever happens.
  func promise(_ number: Int, _ why: String) throws {
    if stands(number, on: durable) {
      if durable != number { promiseCount += 1 }
      durable = number
      if !stands(present, on: number) { present = number }
    } else if !stands(durable, on: number) {
      throw CrashDeviation(
        "\(why), and commit \(durable) was promised, which it does not stand on: \(chain(number)), \(chain(durable))")
    }
  }

  /// The cache was lost: only what was promised for good counts.
  func dropPresent() { present = durable }

  /// The power has failed. A file may be gone whose creator was killed before its name was durable: the next open for writing
  /// makes the name durable only with its first commit.
  func losePower() {
    dropPresent()
    opensUnderWay = 0
    wasCreated = isNameDurable || durable > 0
  }

  // MARK: creation

  /// An open for writing: what it found, and which others were there.
  struct Opening {
    fileprivate let number: Int
    fileprivate let isCreation: Bool
  }

  func beginOpening(isMissing: Bool) -> Opening {
    openCount += 1
    opensUnderWay += 1
    return Opening(number: openCount, isCreation: isMissing && opensUnderWay == 1)
  }

  /// - Parameter isOpen: it has returned a database.
  func end(_ opening: Opening, isOpen: Bool) {
    opensUnderWay = max(0, opensUnderWay - 1)
    guard isOpen else { return }
    wasCreated = true
    // No other open can have made the file.
    if opening.isCreation, openCount == opening.number { isNameDurable = true }
  }

  /// The newest ancestor of a commit that this writer has not made itself.
  func othersPart(of number: Int, writer: Int) -> Int {
    var number = number
    while number > durable, attempts[number].writer == writer { number = attempts[number].parent }
    return number
  }

  func chain(_ number: Int) -> String {
    var numbers = [number]
    while let last = numbers.last, last > 0, numbers.count < 6 { numbers.append(attempts[last].parent) }
    return numbers.map { "\($0)" }.joined(separator: " on ")
  }

  /// Compares what a reader sees with what was committed; returns the number of the commit.
  /// - Parameter floor: the commit that it must be based on.
  @discardableResult
  func check(_ sequence: Int, _ state: CrashState, floor: Int, withAssets: Bool = true, _ what: () -> String) throws -> Int {
    let number = Int(state.step)
    guard attempts.indices.contains(number) else { throw CrashDeviation("\(what()) shows a commit that nobody made: \(state)") }
    let attempt = attempts[number]
    if attempt.outcome == .refused { throw CrashDeviation("\(what()) shows commit \(number), which failed") }
    guard attempt.sequence == sequence else {
      throw CrashDeviation("\(what()) shows commit \(number) as sequence \(sequence), expected \(attempt.sequence)")
    }
    let expected = withAssets ? attempt.state : attempt.state.withoutAssets
    guard state == expected else {
      throw CrashDeviation("\(what()) shows commit \(number) with \(state), expected \(expected)")
    }
    guard stands(number, on: floor) else {
      throw CrashDeviation("\(what()) shows commit \(chain(number)), expected one that stands on \(floor)")
    }
    return number
  }

  /// The same for an image that was examined before.
  func check(_ found: Int, floor: Int, _ what: () -> String) throws {
    if attempts[found].outcome == .refused { throw CrashDeviation("\(what()) shows commit \(found), which failed") }
    guard stands(found, on: floor) else {
      throw CrashDeviation("\(what()) shows commit \(chain(found)), expected one that stands on \(floor)")
    }
  }

  /// One tag, one version.
  func check(changeTag: String, of record: String, version: Int64) throws {
    let known = versions.updateValue(version, forKey: record + " " + changeTag)
    if let known, known != version {
      throw CrashDeviation("the change tag \(changeTag) of \(record) stands for two versions, \(known) and \(version)")
    }
  }
}
