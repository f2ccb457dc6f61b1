#if !canImport(CloudKit)
  import DaybookCompatibility
  import Foundation
  import Testing

  // The queries of the article. This file imports Foundation too, as many sources do: its names and these go together.

  struct Kitchen {
    let container: CKContainer

    // The predicates of the article.
    func predicate(with title: String) -> NSPredicate {
      return NSPredicate(format: "self contains %@", title)
    }

    func predicate(closeTo location: CLLocation, radius: Float = 500.0) -> NSPredicate {
      return NSPredicate(format: "distanceToLocation:fromLocation:(location, %@) < %f", location, radius)
    }

    func predicateForAll() -> NSPredicate {
      return NSPredicate(value: true)
    }

    /// All pages of a query: one operation for each, with both blocks.
    func perform(
      query: CKQuery, inputCursor: CKQueryCursor? = nil, found: Collected<CKRecord>, completion: @escaping (Error?) -> Void
    ) {
      let operation: CKQueryOperation

      if let inputCursor = inputCursor {
        operation = CKQueryOperation(cursor: inputCursor)
      } else {
        operation = CKQueryOperation(query: query)
      }
      operation.resultsLimit = 3

      operation.recordFetchedBlock = { record in
        found.append(record)
      }

      operation.queryCompletionBlock = { cursor, error in
        if let cursor = cursor {
          self.perform(query: query, inputCursor: cursor, found: found, completion: completion)
        } else {
          completion(error)
        }
      }

      container.publicCloudDatabase.add(operation)
    }

    func titles(_ predicate: NSPredicate, sorted: Bool = true) async throws -> [String] {
      let query = CKQuery(recordType: "Movie", predicate: predicate)
      if sorted { query.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)] }
      let found = Collected<CKRecord>()
      let error = await withCheckedContinuation { (continuation: CheckedContinuation<Error?, Never>) in
        perform(query: query, found: found) { continuation.resume(returning: $0) }
      }
      if let error { throw error }
      return found.values.compactMap { $0["title"] as? String }
    }

    /// Seven films and where they were made.
    func fill() async throws {
      let films: [(String, Double, Double)] = [
        ("Cidade de Deus", -22.9, -43.2), ("Central do Brasil", -22.9, -43.2), ("Bacurau", -6.5, -36.7),
        ("O Som ao Redor", -8.05, -34.9), ("Aquarius", -8.05, -34.9), ("Que Horas Ela Volta", -23.5, -46.6),
        ("Cidade Baixa", -12.97, -38.5),
      ]
      let records = films.map { title, latitude, longitude -> CKRecord in
        let record = CKRecord(recordType: "Movie")
        record["title"] = title
        record["location"] = CLLocation(latitude: latitude, longitude: longitude)
        return record
      }
      let done = try await container.publicCloudDatabase.modifyRecords(saving: records, deleting: [])
      for (_, result) in done.saveResults { _ = try result.get() }
    }
  }

  @Suite("the queries of the article")
  struct ArticleQueryTests {
    @Test("A25: an operation gives record by record, then a cursor for the next one, until there is none")
    func pages() async throws {
      try await Scratch.container { container in
        let kitchen = Kitchen(container: container)
        try await kitchen.fill()
        let all = try await kitchen.titles(kitchen.predicateForAll())
        #expect(all.count == 7)
        #expect(all == all.sorted())
        #expect(try await kitchen.titles(kitchen.predicateForAll(), sorted: false).sorted() == all)
      }
    }

    @Test("A23: self contains finds words in all texts")
    func words() async throws {
      try await Scratch.container { container in
        let kitchen = Kitchen(container: container)
        try await kitchen.fill()
        #expect(try await kitchen.titles(kitchen.predicate(with: "cidade")) == ["Cidade Baixa", "Cidade de Deus"])
      }
    }

    @Test("A24: films made within a radius of kilometres, with a place and a Float as arguments")
    func places() async throws {
      try await Scratch.container { container in
        let kitchen = Kitchen(container: container)
        try await kitchen.fill()
        let currentLocation = CLLocation(latitude: -23.5, longitude: -46.6)
        let near = try await kitchen.titles(kitchen.predicate(closeTo: currentLocation))
        #expect(near == ["Central do Brasil", "Cidade de Deus", "Que Horas Ela Volta"])
        #expect(try await kitchen.titles(kitchen.predicate(closeTo: currentLocation, radius: 100)) == ["Que Horas Ela Volta"])
      }
    }

    @Test("A26: the nearest first")
    func nearest() async throws {
      try await Scratch.container { container in
        let kitchen = Kitchen(container: container)
        try await kitchen.fill()
        let query = CKQuery(recordType: "Movie", predicate: NSPredicate(format: "title BEGINSWITH %@", "C"))
        query.sortDescriptors = [
          CKLocationSortDescriptor(key: "location", relativeLocation: CLLocation(latitude: -12, longitude: -38)),
          NSSortDescriptor(key: "title", ascending: false),
        ]
        let found = try await container.publicCloudDatabase.records(matching: query)
        let titles = try found.matchResults.map { try $0.1.get()["title"] as? String }
        #expect(titles == ["Cidade Baixa", "Cidade de Deus", "Central do Brasil"])
        #expect(found.queryCursor == nil)
      }
    }

    @Test("A27: the same query runs on the private database, where nothing is, and an operation can be cancelled")
    func cancelled() async throws {
      try await Scratch.container { container in
        try await Kitchen(container: container).fill()
        let query = CKQuery(recordType: "Movie", predicate: NSPredicate(value: true))
        #expect(try await container.privateCloudDatabase.records(matching: query).matchResults.isEmpty)

        let operation = CKQueryOperation(query: query)
        let ends = Collected<CKError?>()
        operation.queryCompletionBlock = { _, error in ends.append(error as? CKError) }
        operation.queryResultBlock = { result in
          if case .success = result { Issue.record("it succeeded") }
        }
        operation.cancel()
        await operation.ended { container.publicCloudDatabase.add(operation) }
        #expect(ends.values.map { $0?.code } == [.operationCancelled])
      }
    }

    @Test("predicates: formats that are none, blocks, compounds and arguments of all kinds")
    func predicates() async throws {
      try await Scratch.container { container in
        let database = container.privateCloudDatabase
        let target = CKRecord(recordType: "Studio")
        let film = CKRecord(recordType: "Movie")
        film["title"] = "Aquarius"
        film["year"] = 2016
        film["tags"] = ["a", "b"]
        film["studio"] = CKRecord.Reference(record: target, action: .none)
        try await database.save(film)

        func count(_ predicate: NSPredicate) async throws -> Int {
          let answer = try await database.records(matching: CKQuery(recordType: "Movie", predicate: predicate))
          return answer.matchResults.count
        }
        #expect(try await count(NSPredicate(format: "year > %d", 2000)) == 1)
        #expect(try await count(NSPredicate(format: "%K == %@", "title", "Aquarius")) == 1)
        #expect(try await count(NSPredicate(format: "studio == %@", target)) == 1)
        #expect(try await count(NSPredicate(format: "studio == %@", target.recordID)) == 1)
        #expect(try await count(NSPredicate(format: "studio == %@", CKRecord.Reference(record: target, action: .none))) == 1)
        #expect(try await count(NSPredicate(format: "year IN %@", [2015, 2016])) == 1)
        #expect(try await count(NSPredicate(format: "tags CONTAINS %@", "b")) == 1)
        #expect(try await count(NSPredicate(format: "creationDate > %@", NSDate(timeIntervalSince1970: 0))) == 1)
        #expect(try await count(NSPredicate(format: "TRUEPREDICATE")) == 1)
        #expect(try await count(NSPredicate(value: false)) == 0)
        let both = NSCompoundPredicate(andPredicateWithSubpredicates: [
          NSPredicate(format: "year > %d", 2000), NSPredicate(format: "title == %@", "Bacurau"),
        ])
        #expect(try await count(both) == 0)
        // In memory they answer, too.
        #expect(NSPredicate(format: "year > %d", 2000).evaluate(with: film))
        #expect(!both.evaluate(with: film))

        let refused = [
          NSPredicate(format: "year >"), NSPredicate(format: "year > %d"),
          NSPredicate(format: "year == %@", ["a", 1] as [Any]),
          NSPredicate(format: "year == %@", NSObject()), NSPredicate { _, _ in true },
          NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate { _, _ in true }),
        ]
        for predicate in refused {
          do {
            _ = try await count(predicate)
            Issue.record("it was accepted")
          } catch CKError.invalidArguments {
          }
        }
      }
    }
  }
#endif
