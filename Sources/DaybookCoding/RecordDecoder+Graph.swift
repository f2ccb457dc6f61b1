import Daybook

extension RecordDecoder {
  /// The value of a record with the values of those that it refers to, however far: the counterpart of
  /// ``RecordEncoder/encodeGraph(_:)``.
  ///
  /// First all records are fetched, level by level, in batches as large as the database's limits allow, each once; then the values
  /// are made. References of all fields are followed, but not those of ignored keys of `type`, nor parents that no rule names. A
  /// record that refers back to one whose value is being made is nil to an optional, and `cycle` to anything else. However deep the
  /// records refer to each other, no stack is used up.
  /// - Throws: `recordNotFound`, with the path to the reference, when a value is asked for whose record is missing; `database` when
  ///   a fetch fails.
  public func decode<T: RecordDecodable>(
    _ type: T.Type, from record: Record, resolvingIn database: any RecordDatabase
  ) async throws(RecordCodingError) -> T {
    let graph = GraphDecoding(self)
    graph.add(record)
    var level = references(of: record, ignoring: ignoredFields(T.self)) + parents(of: record)
    let batch = max(1, database.limits.itemsPerRequest)
    while !level.isEmpty {
      var next: [Record.ID] = []
      for start in stride(from: 0, to: level.count, by: batch) {
        let ids = Array(level[start..<min(level.count, start + batch)])
        for (id, result) in try await fetch(ids, in: database) {
          switch result {
          case .success(let found):
            graph.add(found)
            next += references(of: found, ignoring: []) + parents(of: found)
          case .failure(let error): graph.miss(id, error)
          }
        }
      }
      var known: Set<Record.ID> = []
      level = next.filter { !graph.knows($0) && known.insert($0).inserted }.sorted()
    }
    return try graph.root(type, record)
  }

  /// The value of the last of these records, with the values of the others that it refers to.
  ///
  /// - Throws: `recordNotFound` when a record that is referred to is not among them, or there is none at all.
  public func decodeGraph<T: RecordDecodable>(_ type: T.Type, from records: [Record]) throws(RecordCodingError) -> T {
    guard let root = records.last else { throw RecordCodingError(.recordNotFound, "There is no record to decode.") }
    let graph = GraphDecoding(self)
    for record in records { graph.add(record) }
    return try graph.root(type, root)
  }

  private func fetch(
    _ ids: [Record.ID], in database: any RecordDatabase
  ) async throws(RecordCodingError) -> [Record.ID: Result<Record, DatabaseError>] {
    do {
      return try await database.records(for: ids, desiredKeys: nil)
    } catch {
      throw RecordCodingError(.database, "The records that are referred to cannot be fetched.", cause: error)
    }
  }

  private func ignoredFields<T: RecordDecodable>(_ type: T.Type) -> Set<String> {
    let rules = T.fieldRules.merging(options.rules) { _, own in own }
    return Set(
      rules.compactMap { key, rule in
        if case .ignored = rule { options.field(of: key) } else { nil }
      })
  }

  /// What a record refers to, each once, in the order of its keys.
  private func references(of record: Record, ignoring ignored: Set<String>) -> [Record.ID] {
    var ids: [Record.ID] = []
    var known: Set<Record.ID> = [record.id]
    for key in record.keys where !ignored.contains(key) {
      let references: [Record.Reference] =
        switch record[key] as Record.Value? {
        case .reference(let reference): [reference]
        case .references(let list): list
        default: []
        }
      for reference in references where known.insert(reference.id).inserted { ids.append(reference.id) }
    }
    return ids
  }

  private func parents(of record: Record) -> [Record.ID] {
    // Of types below the value the rules are not known yet; a parent too many is only fetched.
    record.parent.map { [$0.id] } ?? []
  }
}

/// The records of a graph and the values that were made of them.
///
/// A value is made within those that refer to it, down to a certain depth: there everything is left, the deeper value is made by
/// itself, and the way is gone once more. So no stack ends, and a value is made about twice at most. One that cannot be made is
/// remembered, too: a type may try it and go on without.
final class GraphDecoding {
  private struct Key: Hashable {
    let id: Record.ID
    let type: ObjectIdentifier
  }

  /// A value to be made by itself, and what lies on the way to it.
  private struct Job {
    let key: Key
    let type: any RecordDecodable.Type
    let path: [String]
    let way: [Key]
  }

  /// Why a value was not made.
  private struct Failure {
    let error: any Error
    /// Where it was asked for.
    let path: [String]
    /// The values being made that it met again, by their numbers: once they are made, it may be another matter.
    let met: Set<Int>
    /// It has been tried so often that it is not tried again before all that it met are made.
    var isFinal = false
  }

  /// Thrown where the way becomes too deep; nobody keeps what was made until then.
  private struct TooDeep: Error {}

  private static let maximumDepth = 32
  /// How often a value that always fails is made by itself; then it is not asked for again. Types that do another thing each time end, too.
  private static let maximumJobCount = 8
  /// How often a value is made again that failed beside others which were being made. Records that list each other, and leave out what
  /// fails, would else be tried in every order.
  private static func maximumFailureCount(_ error: any Error) -> Int {
    // Outside of a circle it is another matter; what is missing or of another type mostly is so everywhere.
    (error as? RecordCodingError)?.code == .cycle ? 32 : 8
  }

  private let decoder: RecordDecoder
  private var records: [Record.ID: Record] = [:]
  private var missing: [Record.ID: DatabaseError] = [:]
  private var values: [Key: Any] = [:]
  private var failures: [Key: Failure] = [:]
  /// Values that are being made, those of waiting jobs included, each with a number that no other had.
  private var open: [Key: Int] = [:]
  private var openNumbers: Set<Int> = []
  private var lastNumber = 0
  /// The numbers of values on ways that are gone once more: they are the same ones, so that a failure that met them counts for them.
  private var wayNumbers: [Key: Int] = [:]
  private var jobFailureCounts: [Key: Int] = [:]
  private var failureCounts: [Key: Int] = [:]
  /// The numbers that a value had each time it was being made, and those of values that are made.
  private var numbers: [Key: [Int]] = [:]
  private var madeNumbers: Set<Int> = []
  /// Those of them that the value which is made now met again.
  private var met: Set<Int> = []
  private var depth = 0
  /// What has to be made before anything else.
  private var next: Job?
  /// The values that were being made when `next` was set.
  private var left: [Key] = []

  init(_ decoder: RecordDecoder) { self.decoder = decoder }

  func add(_ record: Record) { records[record.id] = record }
  func miss(_ id: Record.ID, _ error: DatabaseError) { missing[id] = error }
  func knows(_ id: Record.ID) -> Bool { records[id] != nil || missing[id] != nil }

  /// The value of the record that everything begins with.
  func root<T: RecordDecodable>(_ type: T.Type, _ record: Record) throws(RecordCodingError) -> T {
    let key = Key(id: record.id, type: ObjectIdentifier(type))
    var jobs = [Job(key: key, type: type, path: [], way: [])]
    while let job = jobs.last {
      depth = 0
      next = nil
      left = []
      met = []
      let outcome: Result<Any, any Error>
      do { outcome = .success(try make(job.type, job.key, job.path)) } catch { outcome = .failure(error) }
      // Also when a type's own code kept the error for itself.
      if let deeper = next {
        jobs.append(Job(key: deeper.key, type: deeper.type, path: deeper.path, way: left))
        continue
      }
      if case .failure(let error) = outcome {
        guard jobs.count > 1 else { throw RecordCodingError(error) }
        // The type that asked for it may go on without it. What the value met on the way to it is kept: beside the way it may be made.
        jobFailureCounts[job.key, default: 0] += 1
        failures[job.key] = Failure(
          error: error, path: job.path, met: failures[job.key]?.met ?? [],
          isFinal: jobFailureCounts[job.key, default: 0] > Self.maximumJobCount)
      }
      for key in job.way {
        wayNumbers[key] = open[key]
        close(key)
      }
      jobs.removeLast()
    }
    guard let value = values[key] as? T else {
      throw RecordCodingError(.other, "The value of the record was not made.")
    }
    return value
  }

  /// Whether a value that is being made would be asked for again.
  func wouldRepeat(_ value: Record.Value, _ type: Any.Type) -> Bool {
    guard case .reference(let reference) = value, type is any RecordDecodable.Type else { return false }
    guard let number = open[Key(id: reference.id, type: ObjectIdentifier(type))] else { return false }
    met.insert(number)
    return true
  }

  private func close(_ key: Key) { if let number = open.removeValue(forKey: key) { openNumbers.remove(number) } }

  /// The value of a record that another one refers to.
  func value(_ type: any RecordDecodable.Type, _ id: Record.ID, _ path: [String]) throws -> Any {
    let key = Key(id: id, type: ObjectIdentifier(type))
    if let value = values[key] { return value }
    if next != nil { throw TooDeep() }
    if let failure = failures[key], isStill(failure) {
      met.formUnion(failure.met)
      throw Self.moved(failure, to: path)
    }
    if let number = open[key] {
      met.insert(number)
      throw RecordCodingError(
        .cycle, "The record refers to itself, over others or directly, where a value must be; an optional would be nil.",
        path: path, facts: .init(target: id))
    }
    if depth == Self.maximumDepth {
      next = Job(key: key, type: type, path: path, way: [])
      throw TooDeep()
    }
    return try make(type, key, path)
  }

  /// Whether a value would fail again, or has been tried often enough: then what it met must be made first. Each try after that takes
  /// another value that was made, so that there are no more tries than values.
  private func isStill(_ failure: Failure) -> Bool {
    if failure.met.isSubset(of: openNumbers) { return true }
    return failure.isFinal && !failure.met.isSubset(of: madeNumbers)
  }

  private func make(_ type: any RecordDecodable.Type, _ key: Key, _ path: [String]) throws -> Any {
    guard let record = records[key.id] else {
      throw RecordCodingError(
        .recordNotFound, "A record that is referred to does not exist.", path: path, facts: .init(target: key.id),
        cause: missing[key.id])
    }
    let number = wayNumbers.removeValue(forKey: key) ?? lastNumber + 1
    lastNumber = max(lastNumber, number)
    open[key] = number
    openNumbers.insert(number)
    numbers[key, default: []].append(number)
    depth += 1
    let metBefore = met
    met = []
    defer {
      depth -= 1
      // On the way to a job they stay open until it is done.
      if next == nil { close(key) } else { left.append(key) }
      met.remove(number)
      met.formUnion(metBefore)
    }
    do {
      let value = try decode(type, record, path)
      if next == nil {
        values[key] = value
        madeNumbers.formUnion(numbers[key] ?? [])
      }
      return value
    } catch {
      met.remove(number)
      if next == nil {
        failureCounts[key, default: 0] += 1
        let isFinal = failureCounts[key, default: 0] >= Self.maximumFailureCount(error)
        failures[key] = Failure(error: error, path: path, met: met, isFinal: isFinal)
      }
      throw error
    }
  }

  /// The error as it would be if the value was asked for at another path.
  private static func moved(_ failure: Failure, to path: [String]) -> any Error {
    guard let error = failure.error as? RecordCodingError, error.path.starts(with: failure.path) else { return failure.error }
    return RecordCodingError(
      error.code, error.message, path: path + error.path.dropFirst(failure.path.count), facts: error.facts,
      cause: error.cause)
  }

  private func decode<T: RecordDecodable>(_ type: T.Type, _ record: Record, _ path: [String]) throws -> Any {
    try decoder.decode(type, from: record, graph: self, base: path)
  }
}
