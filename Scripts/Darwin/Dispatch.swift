// A stand-in for Dispatch: the declarations that Daybook uses. See `Scripts/darwin.sh`. Nothing is ever run with it.

public struct DispatchQoS: Sendable {
  public static let unspecified = DispatchQoS()
  public static let utility = DispatchQoS()
  init() { fatalError() }
  public enum QoSClass: Sendable { case background, utility, `default`, userInitiated, userInteractive }
}

public final class DispatchQueue: Sendable {
  public struct Attributes: OptionSet, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { fatalError() }
    public static var concurrent: Attributes { fatalError() }
  }

  public init(label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = []) { fatalError() }
  public static func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue { fatalError() }
  public func async(execute work: @escaping @Sendable @convention(block) () -> Void) { fatalError() }
}
