import Foundation

/// Rows of use in which files are closed, copied or made smaller.
extension UseRows {
  func fileWide(fieldCount: Int) -> Row {
    let count = 200_000 / max(fieldCount, 10)
    return Row(
      name: "use-file-\(fieldCount)-fields", summary: "bytes of the closed files of \(count) records of \(fieldCount) integers",
      contenders: RecordKind.allUnsynced.map { kind in
        let home = home("use-file-\(fieldCount)", kind)
        return Contender(
          kind.engine, kind.variant, operations: count,
          run: { _ in
            let engine = try kind.openUse(in: home, fieldCount: fieldCount)
            try engine.insertWide(count, fieldCount: fieldCount)
            try engine.close()
            return 0
          },
          weigh: { _ in try Files.byteCount(in: home) }, finish: { _ in try Files.remove(home) })
      }, measure: .fileBytes)
  }

  /// Half of the file is dead: every record was changed once.
  func compact() -> Row {
    let count = min(recordCount, 200_000)
    return Row(
      name: "use-compact", summary: "compact a database of \(count) records of ten integers, each changed once, durably",
      contenders: RecordKind.synced.map { kind in
        let home = home("use-compact", kind)
        return Contender(
          kind.engine, kind.variant, operations: 1,
          prepare: { [self] repetition in
            let engine = try engines["use-compact" + kind.engine] ?? kind.openUse(in: home)
            if engines["use-compact" + kind.engine] == nil { try engine.insertWide(count, fieldCount: 10) }
            engines["use-compact" + kind.engine] = engine
            try engine.change(count, among: count, round: UInt64(repetition), perTransaction: 10_000)
          },
          run: { [self] _ in
            try engines["use-compact" + kind.engine]?.compact()
            return 0
          },
          weigh: { _ in try Files.byteCount(in: home) })
      },
      countsDeviceBytes: true,
      afterwards: { [self] in
        for kind in RecordKind.synced { try close("use-compact" + kind.engine, home("use-compact", kind)) }
      })
  }

  /// Durable on both sides: at other levels SQLite leaves its pages to the system, and Daybook does not.
  func closeAfterUpdates() -> Row {
    let count = min(recordCount, 100_000)
    return Row(
      name: "use-close",
      summary: "close a database of \(recordCount) records of ten integers after \(count) random changes, 100 a transaction",
      contenders: RecordKind.synced.map { kind in
        let home = home("use-close", kind)
        return Contender(
          kind.engine, kind.variant, operations: 1,
          prepare: { [self] repetition in
            if !FileManager.default.fileExists(atPath: home) {
              let filling = try kind.openUse(in: home)
              try filling.insertWide(recordCount, fieldCount: 10)
              try filling.close()
            }
            let engine = try kind.openUse(in: home)
            try engine.change(count, among: recordCount, round: UInt64(repetition), perTransaction: 100)
            engines["use-close" + kind.engine] = engine
          },
          run: { [self] _ in
            try engines.removeValue(forKey: "use-close" + kind.engine)?.close()
            return 0
          })
      },
      countsDeviceBytes: true,
      afterwards: { [self] in for kind in RecordKind.synced { try Files.remove(home("use-close", kind)) } })
  }
}
