#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// A position in the changes of a zone or of a database. Opaque: keep it with `NSKeyedArchiver` and hand it back.
  public final class CKServerChangeToken: NSObject, NSSecureCoding, NSCopying, Sendable {
    let token: ChangeToken

    /// A Daybook token.
    public init(_ token: ChangeToken) { self.token = token }

    /// Whether both are the same position.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CKServerChangeToken)?.token == token }
    /// Equal tokens have equal ones.
    public override var hash: Int { token.hashValue }
    /// Itself: it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }
    /// Writes the position.
    public func encode(with coder: NSCoder) { coder.encode(token.data as NSData, forKey: "daybook.token") }
    /// Reads what ``encode(with:)`` wrote; nil for anything else.
    public convenience init?(coder: NSCoder) {
      guard let data = coder.bytes(forKey: "daybook.token"), let token = try? ChangeToken(data: data) else { return nil }
      self.init(token)
    }
  }
#endif
