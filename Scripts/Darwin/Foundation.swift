// A stand-in for Foundation: the declarations that Daybook's library uses, with the shapes of its documentation. See
// `Scripts/darwin.sh`. Nothing is ever run with it.

@_exported import Darwin

public typealias TimeInterval = Double

public struct Date: Hashable, Comparable, Codable, Sendable {
  public init() { fatalError() }
  public init(timeIntervalSinceReferenceDate: TimeInterval) { fatalError() }
  public init(timeIntervalSince1970: TimeInterval) { fatalError() }
  public var timeIntervalSinceReferenceDate: TimeInterval { fatalError() }
  public var timeIntervalSince1970: TimeInterval { fatalError() }
  public func timeIntervalSince(_ date: Date) -> TimeInterval { fatalError() }
  public func addingTimeInterval(_ interval: TimeInterval) -> Date { fatalError() }
  public static func < (left: Date, right: Date) -> Bool { fatalError() }
}

extension Date {
  public struct ISO8601FormatStyle: Sendable {
    public init(includingFractionalSeconds: Bool = false) { fatalError() }
    public func format(_ date: Date) -> String { fatalError() }
    public func parse(_ text: String) throws -> Date { fatalError() }
  }
  public func formatted(_ style: ISO8601FormatStyle) -> String { fatalError() }
}

public protocol LocalizedError: Error {
  var errorDescription: String? { get }
  var failureReason: String? { get }
  var recoverySuggestion: String? { get }
  var helpAnchor: String? { get }
}

extension LocalizedError {
  public var errorDescription: String? { nil }
  public var failureReason: String? { nil }
  public var recoverySuggestion: String? { nil }
  public var helpAnchor: String? { nil }
}

public protocol CustomNSError: Error {
  static var errorDomain: String { get }
  var errorCode: Int { get }
  var errorUserInfo: [String: Any] { get }
}

public typealias uuid_t = (
  UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8
)

public struct Locale: Hashable, Codable, Sendable {}

public struct Decimal: Hashable, Codable, Sendable, CustomStringConvertible {
  public init?(string: String, locale: Locale? = nil) { fatalError() }
  public init(_ number: Int64) { fatalError() }
  public init(_ number: UInt64) { fatalError() }
  public static var nan: Decimal { fatalError() }
  public var isNaN: Bool { fatalError() }
  public var description: String { fatalError() }
  public static func == (left: Decimal, right: Decimal) -> Bool { fatalError() }
  public func hash(into hasher: inout Hasher) { fatalError() }
  public init(from decoder: any Decoder) throws { fatalError() }
  public func encode(to encoder: any Encoder) throws { fatalError() }
}

public struct UUID: Hashable, Codable, Sendable {
  public init() { fatalError() }
  public init(uuid: uuid_t) { fatalError() }
  public init?(uuidString: String) { fatalError() }
  public var uuid: uuid_t { fatalError() }
  public var uuidString: String { fatalError() }
  public static func == (left: UUID, right: UUID) -> Bool { fatalError() }
  public func hash(into hasher: inout Hasher) { fatalError() }
  public init(from decoder: any Decoder) throws { fatalError() }
  public func encode(to encoder: any Encoder) throws { fatalError() }
}

public struct Data: RandomAccessCollection, MutableCollection, RangeReplaceableCollection, Hashable, Codable, Sendable {
  public struct WritingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { fatalError() }
    public static var atomic: WritingOptions { fatalError() }
    public static var withoutOverwriting: WritingOptions { fatalError() }
  }
  public struct ReadingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { fatalError() }
    public static var mappedIfSafe: ReadingOptions { fatalError() }
  }

  public init() { fatalError() }
  public init(_ bytes: some Sequence<UInt8>) { fatalError() }
  public init(repeating byte: UInt8, count: Int) { fatalError() }
  public init(bytes: UnsafeRawPointer, count: Int) { fatalError() }
  public init(contentsOf url: URL, options: ReadingOptions = []) throws { fatalError() }
  public var startIndex: Int { fatalError() }
  public var endIndex: Int { fatalError() }
  public subscript(index: Int) -> UInt8 {
    get { fatalError() }
    set { fatalError() }
  }
  public subscript(range: Range<Int>) -> Data {
    get { fatalError() }
    set { fatalError() }
  }
  public mutating func replaceSubrange(_ range: Range<Int>, with bytes: some Collection<UInt8>) { fatalError() }
  public mutating func append(_ other: Data) { fatalError() }
  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { fatalError() }
  public mutating func withUnsafeMutableBytes<R>(_ body: (UnsafeMutableRawBufferPointer) throws -> R) rethrows -> R {
    fatalError()
  }
  public func base64EncodedString() -> String { fatalError() }
  public func base64EncodedData() -> Data { fatalError() }
  public init?(base64Encoded: String) { fatalError() }
  public func write(to url: URL, options: WritingOptions = []) throws { fatalError() }
}

public struct URL: Hashable, Codable, Sendable {
  public init(filePath: String) { fatalError() }
  public init(fileURLWithPath: String) { fatalError() }
  public init?(string: String) { fatalError() }
  public var absoluteString: String { fatalError() }
  public var absoluteURL: URL { fatalError() }
  public var path: String { fatalError() }
  public var scheme: String? { fatalError() }
  public var isFileURL: Bool { fatalError() }
  public var lastPathComponent: String { fatalError() }
  public var pathExtension: String { fatalError() }
  public var standardizedFileURL: URL { fatalError() }
  public func path(percentEncoded: Bool = true) -> String { fatalError() }
  public func resolvingSymlinksInPath() -> URL { fatalError() }
  public func appending(path: some StringProtocol) -> URL { fatalError() }
  public func appendingPathComponent(_ name: String) -> URL { fatalError() }
  public func appendingPathComponent(_ name: String, isDirectory: Bool) -> URL { fatalError() }
  public func deletingLastPathComponent() -> URL { fatalError() }
}

public struct FileAttributeKey: Hashable, Sendable {
  public static var size: FileAttributeKey { fatalError() }
  public static var type: FileAttributeKey { fatalError() }
  public static var modificationDate: FileAttributeKey { fatalError() }
  public static var posixPermissions: FileAttributeKey { fatalError() }
}

public struct FileAttributeType: Hashable, Sendable {
  public static var typeRegular: FileAttributeType { fatalError() }
  public static var typeDirectory: FileAttributeType { fatalError() }
}

public class NSNumber: @unchecked Sendable {
  public var intValue: Int { fatalError() }
  public var int64Value: Int64 { fatalError() }
  public var uint64Value: UInt64 { fatalError() }
}

public class FileManager: @unchecked Sendable {
  public class var `default`: FileManager { fatalError() }
  public var temporaryDirectory: URL { fatalError() }
  public func fileExists(atPath path: String) -> Bool { fatalError() }
  public func removeItem(atPath path: String) throws { fatalError() }
  public func removeItem(at url: URL) throws { fatalError() }
  public func createDirectory(
    atPath path: String, withIntermediateDirectories: Bool, attributes: [FileAttributeKey: Any]? = nil
  ) throws { fatalError() }
  public func createDirectory(
    at url: URL, withIntermediateDirectories: Bool, attributes: [FileAttributeKey: Any]? = nil
  ) throws { fatalError() }
  public func createFile(
    atPath path: String, contents: Data?, attributes: [FileAttributeKey: Any]? = nil
  ) -> Bool { fatalError() }
  public func moveItem(atPath source: String, toPath target: String) throws { fatalError() }
  public func contentsOfDirectory(atPath path: String) throws -> [String] { fatalError() }
  public func attributesOfItem(atPath path: String) throws -> [FileAttributeKey: Any] { fatalError() }
}

public class JSONDecoder {
  public init() { fatalError() }
  public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { fatalError() }
}

public class JSONEncoder {
  public struct OutputFormatting: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { fatalError() }
    public static var prettyPrinted: OutputFormatting { fatalError() }
    public static var sortedKeys: OutputFormatting { fatalError() }
  }
  public init() { fatalError() }
  public var outputFormatting: OutputFormatting {
    get { fatalError() }
    set { fatalError() }
  }
  public func encode(_ value: some Encodable) throws -> Data { fatalError() }
}

public class PropertyListDecoder {
  public init() { fatalError() }
  public var userInfo: [CodingUserInfoKey: any Sendable] {
    get { fatalError() }
    set { fatalError() }
  }
  public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { fatalError() }
}

public enum PropertyListSerialization {
  public enum PropertyListFormat: Sendable { case xml, binary }
}

public class PropertyListEncoder {
  public init() { fatalError() }
  public var outputFormat: PropertyListSerialization.PropertyListFormat {
    get { fatalError() }
    set { fatalError() }
  }
  public var userInfo: [CodingUserInfoKey: any Sendable] {
    get { fatalError() }
    set { fatalError() }
  }
  public func encode(_ value: some Encodable) throws -> Data { fatalError() }
}

public struct CharacterSet: Hashable, Sendable {
  public static var whitespaces: CharacterSet { fatalError() }
}

public class FileHandle: @unchecked Sendable {
  public class var standardInput: FileHandle { fatalError() }
  public class var standardOutput: FileHandle { fatalError() }
  public class var standardError: FileHandle { fatalError() }
  public init?(forReadingAtPath path: String) { fatalError() }
  public init?(forWritingAtPath path: String) { fatalError() }
  public func read(upToCount count: Int) throws -> Data? { fatalError() }
  public func write(contentsOf data: some Sequence<UInt8>) throws { fatalError() }
  public func write(_ data: Data) { fatalError() }
  public func close() throws { fatalError() }
}

public class Thread {
  public class func sleep(forTimeInterval interval: TimeInterval) { fatalError() }
}

public class Bundle: @unchecked Sendable {
  public class var main: Bundle { fatalError() }
  public var executableURL: URL? { fatalError() }
}

public func NSTemporaryDirectory() -> String { fatalError() }

public class NSString: @unchecked Sendable {
  public var lastPathComponent: String { fatalError() }
  public var deletingLastPathComponent: String { fatalError() }
}

extension String: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSString { fatalError() }
  public static func _forceBridgeFromObjectiveC(_ source: NSString, result: inout String?) { fatalError() }
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSString, result: inout String?) -> Bool { fatalError() }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSString?) -> String { fatalError() }

  public struct Encoding: Hashable, Sendable {
    public static var utf8: Encoding { fatalError() }
  }
  public init(contentsOfFile path: String, encoding: Encoding) throws { fatalError() }
  public init(format: String, _ arguments: any CVarArg...) { fatalError() }
  public func write(toFile path: String, atomically: Bool, encoding: Encoding) throws { fatalError() }
}

extension StringProtocol {
  public func range(of other: some StringProtocol) -> Range<Index>? { fatalError() }
  public func trimmingCharacters(in set: CharacterSet) -> String { fatalError() }
  public func padding(toLength length: Int, withPad pad: some StringProtocol, startingAt index: Int) -> String { fatalError() }
}

public struct PredicateBindings {}

public protocol PredicateExpression<Output> {
  associatedtype Output
  func evaluate(_ bindings: PredicateBindings) throws -> Output
}

public protocol StandardPredicateExpression<Output>: PredicateExpression, Codable, Sendable {}

public struct Predicate<each Input>: Sendable {
  public let expression: any StandardPredicateExpression<Bool>
  public let variable: (repeat PredicateExpressions.Variable<each Input>)
}

public enum PredicateExpressions {
  public struct VariableID: Hashable, Codable, Sendable {}
  public enum ComparisonOperator: Codable, Sendable {
    case lessThan, lessThanOrEqual, greaterThan, greaterThanOrEqual
  }
  public enum ArithmeticOperator: Codable, Sendable {
    case add, subtract, multiply
  }

  public struct Variable<Output>: StandardPredicateExpression {
    public let key: VariableID
    public func evaluate(_ bindings: PredicateBindings) throws -> Output { fatalError() }
  }
  public struct Value<Output>: PredicateExpression {
    public let value: Output
    public func evaluate(_ bindings: PredicateBindings) -> Output { fatalError() }
  }
  public struct NilLiteral<Wrapped>: StandardPredicateExpression {
    public func evaluate(_ bindings: PredicateBindings) throws -> Wrapped? { fatalError() }
  }
  public struct KeyPath<Root: PredicateExpression, Output>: PredicateExpression {
    public let root: Root
    public let keyPath: Swift.KeyPath<Root.Output, Output> & Sendable
    public func evaluate(_ bindings: PredicateBindings) throws -> Output { fatalError() }
  }

  public struct Conjunction<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == Bool, RHS.Output == Bool {
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }
  public struct Disjunction<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == Bool, RHS.Output == Bool {
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }
  public struct Negation<Wrapped: PredicateExpression>: PredicateExpression where Wrapped.Output == Bool {
    public let wrapped: Wrapped
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }
  public struct Conditional<Test: PredicateExpression, If: PredicateExpression, Else: PredicateExpression>: PredicateExpression
  where Test.Output == Bool, If.Output == Else.Output {
    public let test: Test
    public let trueBranch: If
    public let falseBranch: Else
    public func evaluate(_ bindings: PredicateBindings) throws -> If.Output { fatalError() }
  }

  public struct Equal<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output, LHS.Output: Equatable {
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }
  public struct NotEqual<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output, LHS.Output: Equatable {
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }
  public struct Comparison<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output, LHS.Output: Comparable {
    public let op: ComparisonOperator
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }

  public struct Range<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output, LHS.Output: Comparable {
    public let lower: LHS
    public let upper: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Swift.Range<LHS.Output> { fatalError() }
  }
  public struct ClosedRange<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output, LHS.Output: Comparable {
    public let lower: LHS
    public let upper: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Swift.ClosedRange<LHS.Output> { fatalError() }
  }
  public struct RangeExpressionContains<RangeExpression: PredicateExpression, Element: PredicateExpression>: PredicateExpression
  where RangeExpression.Output: Swift.RangeExpression, Element.Output == RangeExpression.Output.Bound {
    public let range: RangeExpression
    public let element: Element
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }
  public struct SequenceContains<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output: Sequence, LHS.Output.Element == RHS.Output, RHS.Output: Equatable {
    public let sequence: LHS
    public let element: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }
  public struct SequenceContainsWhere<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output: Sequence, RHS.Output == Bool {
    public let sequence: LHS
    public let test: RHS
    public let variable: Variable<LHS.Output.Element>
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }
  public struct SequenceStartsWith<Base: PredicateExpression, Prefix: PredicateExpression>: PredicateExpression
  where Base.Output: Sequence, Prefix.Output: Sequence, Base.Output.Element == Prefix.Output.Element,
    Base.Output.Element: Equatable
  {
    public let base: Base
    public let prefix: Prefix
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }
  public struct CollectionContainsCollection<Base: PredicateExpression, Other: PredicateExpression>: PredicateExpression
  where Base.Output: Collection, Other.Output: Collection, Base.Output.Element == Other.Output.Element,
    Base.Output.Element: Equatable
  {
    public let base: Base
    public let other: Other
    public func evaluate(_ bindings: PredicateBindings) throws -> Bool { fatalError() }
  }

  public struct ForcedUnwrap<Inner: PredicateExpression, Wrapped>: PredicateExpression where Inner.Output == Wrapped? {
    public let inner: Inner
    public func evaluate(_ bindings: PredicateBindings) throws -> Wrapped { fatalError() }
  }
  public struct OptionalFlatMap<LHS: PredicateExpression, Wrapped, RHS: PredicateExpression, Result>: PredicateExpression
  where LHS.Output == Wrapped? {
    public let wrapped: LHS
    public let transform: RHS
    public let variable: Variable<Wrapped>
    public func evaluate(_ bindings: PredicateBindings) throws -> Result? { fatalError() }
  }
  public struct NilCoalesce<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output? {
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> RHS.Output { fatalError() }
  }

  public struct Arithmetic<LHS: PredicateExpression, RHS: PredicateExpression>: PredicateExpression
  where LHS.Output == RHS.Output, LHS.Output: Numeric {
    public let op: ArithmeticOperator
    public let lhs: LHS
    public let rhs: RHS
    public func evaluate(_ bindings: PredicateBindings) throws -> LHS.Output { fatalError() }
  }
  public struct UnaryMinus<Wrapped: PredicateExpression>: PredicateExpression where Wrapped.Output: SignedNumeric {
    public let wrapped: Wrapped
    public func evaluate(_ bindings: PredicateBindings) throws -> Wrapped.Output { fatalError() }
  }
}
