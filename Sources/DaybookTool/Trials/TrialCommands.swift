import Daybook
import Foundation

/// What `Scripts/kill.sh` runs: a process that writes, one that reads beside it, and one that looks at what is left.
extension Commands {
  /// Goes on where the file ends, and prints each step's number when its commit was acknowledged.
  static let trialWriter = Command(
    name: "trial-writer", summary: "Write in steps until killed.", positionals: ["PROGRAM", "FILE"],
    options: [
      .value("--turns", "N", "Give the file back after N steps, and ask for it again."),
      .value("--steps", "N", "End after N steps."),
      .flag("--shared", "Let other writers in between two steps."),
      .flag("--ballast", "Begin with a record to delete when the disk is full."),
    ],
    isHidden: true
  ) { invocation in
    let trial = try invocation.trial()
    let path = invocation.arguments[1]
    let stepsAtATime = try invocation.arguments.count("--turns") ?? (trial.kind == .reopening ? 1 : .max)
    var left = try invocation.arguments.count("--steps") ?? 1_000_000
    if invocation.arguments.has("--shared") { return try invocation.writeInTurns(trial, path, left) }
    while left > 0 {
      let database = try Database.open(at: path, options: trial.options())
      let ballast = try Record.ID("ballast")
      if invocation.arguments.has("--ballast"), try database.record(ballast) == nil {
        try database.write { transaction in try transaction.save(Record(type: "Row", id: ballast)) }
      }
      var number = try database.lastStep()
      for _ in 0..<min(left, stepsAtATime) {
        number += 1
        left -= 1
        do { try trial.perform(number, on: database) } catch let error as DatabaseError where error.code == .diskFull {
          return try invocation.endOnFullDisk(error, trial, database, number - 1, ballast)
        }
        try invocation.output.line(String(number))
        try invocation.output.flush()
      }
      try database.close()
    }
    return .done
  }

  /// Looks at a file again and again while others write to it and are killed.
  static let trialReader = Command(
    name: "trial-reader", summary: "Read beside a writer.", positionals: ["PROGRAM", "FILE", "STOP"], isHidden: true
  ) { invocation in
    let trial = try invocation.trial()
    let path = invocation.arguments[1]
    var model = TrialModel(trial)
    var lookCount = 0, openCount = 0
    // The file STOP tells when to end.
    while !FileManager.default.fileExists(atPath: invocation.arguments[2]) {
      guard FileManager.default.fileExists(atPath: path) else {
        Thread.sleep(forTimeInterval: 0.002)
        continue
      }
      do {
        let database = try Database.open(at: path, options: trial.options(isReadOnly: true))
        openCount += 1
        if database.lastRecovery.tellsOfDamage {
          throw ToolError(.finding, "open \(openCount): called damaged, \(database.lastRecovery)")
        }
        // Alone it showed what it had synced itself; beside a new writer, only what that one has told to be durable: a new
        // open may show less for a moment. One open never goes back.
        if try database.lastStep() < model.step { model = TrialModel(trial) }
        for _ in 0..<20 {
          let problem = try database.read { snapshot in try Trial.look(snapshot, &model) }
          if let problem { throw ToolError(.finding, "look \(lookCount): \(problem)") }
          lookCount += 1
          Thread.sleep(forTimeInterval: 0.003)
          try database.refresh()
        }
        try database.close()
      } catch let error as DatabaseError where error.code == .operationCancelled || error.code == .snapshotTooOld {
        // A writer's recovery has put something else in the place of what was shown: open again.
      }
    }
    try invocation.output.line("\(lookCount) looks, \(openCount) opens, up to step \(model.step)")
    return .done
  }

  /// Looks at what a kill has left: read-only first, then recovered by a writer. Prints the last step.
  static let trialVerifier = Command(
    name: "trial-verifier", summary: "Check what a killed writer left.", positionals: ["PROGRAM", "FILE", "ACKNOWLEDGED"],
    isHidden: true
  ) { invocation in
    let trial = try invocation.trial()
    guard let acknowledged = Int(invocation.arguments[2]) else { throw ToolError.usage("ACKNOWLEDGED is a number.") }
    var model = TrialModel(trial)
    var findings: [String] = []
    for isReadOnly in [true, false] {
      let who = isReadOnly ? "read-only" : "recovered"
      let database = try Database.open(at: invocation.arguments[1], options: trial.options(isReadOnly: isReadOnly))
      let before = model.step
      if let problem = try database.read({ snapshot in try Trial.look(snapshot, &model) }) {
        findings.append("\(who): \(problem)")
      }
      if !isReadOnly && model.step != before { findings.append("recovery changes what is there") }
      if database.lastRecovery.tellsOfDamage { findings.append("\(who): a kill was taken for corruption") }
      let report = try database.check(.deep)
      findings += report.findings.map { "\(who): \($0)" }
      try database.close()
    }
    if model.step < acknowledged { findings.append("step \(acknowledged) was acknowledged, the file ends with \(model.step)") }
    for finding in findings { try invocation.errors.line(finding) }
    try invocation.output.line(String(model.step))
    return findings.isEmpty ? .done : .finding
  }
}

extension Trial {
  /// Moves the model on to what a snapshot shows and compares the two.
  fileprivate static func look(_ snapshot: borrowing Snapshot, _ model: inout TrialModel) throws -> String? {
    let step = try lastStep(snapshot)
    if step < model.step { return "step \(model.step) was shown before, now it is \(step)" }
    model.advance(to: step)
    return try model.difference(snapshot)
  }
}

extension Invocation {
  fileprivate func trial() throws -> Trial {
    guard let kind = Trial.Kind(rawValue: arguments[0]) else {
      throw ToolError.usage("The programs are \(Trial.Kind.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
    return Trial(kind: kind)
  }

  /// Steps whose numbers are found out within the transaction: others write, too.
  fileprivate func writeInTurns(_ trial: Trial, _ path: String, _ count: Int) throws -> ExitStatus {
    var options = trial.options()
    options.lock = .perTransaction
    let database = try Database.open(at: path, options: options)
    for _ in 0..<count {
      try output.line(String(try trial.performNext(on: database)))
      try output.flush()
    }
    try database.close()
    return .done
  }

  /// No room: reads go on, a delete succeeds, the error names the bytes needed.
  fileprivate func endOnFullDisk(
    _ error: DatabaseError, _ trial: Trial, _ database: Database, _ step: Int, _ ballast: Record.ID
  ) throws -> ExitStatus {
    var model = TrialModel(trial)
    if let problem = try database.read({ snapshot in try Trial.look(snapshot, &model) }) { throw ToolError(.finding, problem) }
    guard model.step == step else { throw ToolError(.finding, "step \(step) was acknowledged, \(model.step) is there") }
    guard let size = error.facts.size, size > 0 else { throw ToolError(.finding, "no word of the bytes needed: \(error)") }
    if arguments.has("--ballast") {
      try database.write { transaction in try transaction.delete(ballast) }
      guard try database.record(ballast) == nil else { throw ToolError(.finding, "the deleted record is there") }
    }
    try database.close()
    try output.line("full \(size)")
    return .done
  }
}
