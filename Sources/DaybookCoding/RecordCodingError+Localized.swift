import Daybook

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What applications show to people.
extension RecordCodingError: LocalizedError {
  /// The sentence with path and facts beside it. What `localizedDescription` returns.
  public var errorDescription: String? {
    var parts: [String] = []
    if !path.isEmpty { parts.append("path: \(path.joined(separator: "."))") }
    let facts = facts.description
    if !facts.isEmpty { parts.append(facts) }
    let sentence = (cause as? DatabaseError)?.errorDescription.map { "\(message) \($0)" } ?? message
    return parts.isEmpty ? sentence : "\(sentence) (\(parts.joined(separator: ", ")))"
  }

  /// What the database suggests, where it refused.
  public var recoverySuggestion: String? { (cause as? DatabaseError)?.recoverySuggestion }
}
