#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Values of one kind that are set in the order that is expected of a new record, without a `Record.Value?` in between: for code that
/// knows which kind it has, as the encoder of a type does (row: coding-encode).
///
/// Each is false, and has done nothing, where another key is expected or the value has no stored form: ``Record/set(_:forKey:)`` then
/// does all else, and refuses.
extension Record {
  package mutating func takes(_ number: Int64, forKey key: String) -> Bool { takesNext(.int(number), .int, forKey: key) }

  package mutating func takes(_ number: Double, forKey key: String) -> Bool {
    // Minus zero is stored as zero.
    !number.isNaN && takesNext(.double(number == 0 ? 0 : number), .double, forKey: key)
  }

  package mutating func takes(_ date: Date, forKey key: String) -> Bool {
    let seconds = date.timeIntervalSinceReferenceDate
    return !seconds.isNaN && takesNext(.date(seconds == 0 ? Date(timeIntervalSinceReferenceDate: 0) : date), .date, forKey: key)
  }

  package mutating func takes(_ text: String, forKey key: String) -> Bool { takesNext(.string(text), .string, forKey: key) }

  package mutating func takes(_ bytes: Data, forKey key: String) -> Bool { takesNext(.bytes(bytes), .bytes, forKey: key) }

  package mutating func takes(_ texts: [String], forKey key: String) -> Bool {
    takesNext(.strings(texts), .strings, forKey: key)
  }

  /// Not below the number of fields.
  package var fieldCountLimit: Int { body.fieldCount + (draft?.mostCount ?? 0) }
}
