#if !canImport(CloudKit)
  import Daybook
  import DaybookCoding
  import Foundation

  /// Makes a value of a record and of all records that it refers to: these are fetched first, level by level, each once.
  ///
  /// A decoder may be used by several threads at once.
  public final class CKRecordDecoder: Sendable {
    // Where a library has classes of these names itself, a call means its: code that imports it compiles.
    /// A decoder.
    @_disfavoredOverload
    public init() {}

    /// Makes the value of a record, off the caller's thread.
    ///
    /// - Parameters:
    ///   - database: where the records are that it refers to.
    ///   - completion: called on any thread.
    @preconcurrency
    public func decode<T: CKDecodable>(
      _ type: T.Type, from record: CKRecord, referenceDatabase database: CKDatabase,
      completion: @escaping @Sendable (_ result: T?, _ error: CKCodableError?) -> Void
    ) {
      let work = Handed {
        let result: T
        do throws(RecordCodingError) { result = try Self.value(type, of: record, in: database) } catch {
          return completion(nil, CKCodableError(error))
        }
        completion(result, nil)
      }
      database.run { work.value() }
    }

    /// The value of a record.
    /// - Throws: ``CKCodableError``.
    public func decode<T: CKDecodable>(
      _ type: T.Type, from record: CKRecord, referenceDatabase database: CKDatabase
    ) async throws -> T {
      let work = Handed { () -> Result<Any, CKCodableError> in
        do throws(RecordCodingError) { return .success(try Self.value(type, of: record, in: database)) } catch {
          return .failure(CKCodableError(error))
        }
      }
      let done = try await Handover<Handed<Result<Any, CKCodableError>>>.result { handover in
        database.run { handover.resume(returning: Handed(work.value())) }
      }
      guard let value = try done.value.get() as? T else { throw CKCodableError(.typeMismatch) }
      return value
    }

    /// What one thread makes and hands to another, and does not look at again.
    private struct Handed<Value>: @unchecked Sendable {
      let value: Value
      init(_ value: Value) { self.value = value }
    }

    private static func value<T: CKDecodable>(
      _ type: T.Type, of record: CKRecord, in database: CKDatabase
    ) throws(RecordCodingError) -> T {
      let layer = FieldLayer(readsPlacesAsTexts: true)
      var options = RecordCodingOptions()
      options.layer = layer
      options.checksRecordType = false
      let root: Record
      var records: [Record]
      do throws(DatabaseError) {
        root = try CodingFields.fields(of: record, layer)
        records = try referred(by: root, in: database)
      } catch {
        throw RecordCodingError(
          .database, "The records that are referred to cannot be fetched.", facts: error.facts, cause: error)
      }
      records.append(root)
      return try RecordDecoder(options: options).decodeGraph(type, from: records)
    }

    /// All records that a record refers to, however far, as far as they exist.
    private static func referred(by root: Record, in database: CKDatabase) throws(DatabaseError) -> [Record] {
      let database = try database.daybookDatabase()
      let batch = max(1, database.limits.itemsPerRequest)
      var known: Set<Record.ID> = [root.id]
      var found: [Record] = []
      var level = targets(of: root).filter { known.insert($0).inserted }
      while !level.isEmpty {
        var next: [Record.ID] = []
        for start in stride(from: 0, to: level.count, by: batch) {
          let ids = Array(level[start..<min(level.count, start + batch)])
          let answers = try database.records(for: ids)
          for id in ids {
            // One that is missing is told of where its value is asked for.
            switch answers[id] {
            case .success(let record)?:
              found.append(record)
              next += targets(of: record)
            case .failure(let error)? where error.code != .unknownItem: throw error
            default: continue
            }
          }
        }
        level = next.filter { known.insert($0).inserted }
      }
      return found
    }

    private static func targets(of record: Record) -> [Record.ID] {
      record.keys.flatMap { key -> [Record.ID] in
        switch record[key] as Record.Value? {
        case .reference(let reference)?: [reference.id]
        case .references(let list)?: list.map(\.id)
        default: []
        }
      }
    }
  }
#endif
