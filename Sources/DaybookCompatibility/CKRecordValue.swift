#if !canImport(CloudKit)
  import Daybook
  import Foundation

  /// What can be under a key of a record: text, numbers, bytes, dates, places, assets, references, and arrays of one of these kinds.
  ///
  /// A value that no field can hold, such as an array of several kinds, is not there when it is read back, and the next save of
  /// the record says so with `invalidArguments`.
  public protocol CKRecordValueProtocol {}

  /// The same: off Apple's platforms there are no two worlds of objects and values.
  public typealias CKRecordValue = CKRecordValueProtocol

  extension String: CKRecordValueProtocol {}
  extension Bool: CKRecordValueProtocol {}
  extension Int: CKRecordValueProtocol {}
  extension Int8: CKRecordValueProtocol {}
  extension Int16: CKRecordValueProtocol {}
  extension Int32: CKRecordValueProtocol {}
  extension Int64: CKRecordValueProtocol {}
  extension UInt: CKRecordValueProtocol {}
  extension UInt8: CKRecordValueProtocol {}
  extension UInt16: CKRecordValueProtocol {}
  extension UInt32: CKRecordValueProtocol {}
  extension UInt64: CKRecordValueProtocol {}
  extension Float: CKRecordValueProtocol {}
  extension Double: CKRecordValueProtocol {}
  extension Data: CKRecordValueProtocol {}
  extension Date: CKRecordValueProtocol {}
  extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}
  extension NSString: CKRecordValueProtocol {}
  extension NSNumber: CKRecordValueProtocol {}
  extension NSData: CKRecordValueProtocol {}
  extension NSDate: CKRecordValueProtocol {}
  extension NSArray: CKRecordValueProtocol {}
  extension CLLocation: CKRecordValueProtocol {}
  extension CKAsset: CKRecordValueProtocol {}
  extension CKRecord.Reference: CKRecordValueProtocol {}

  /// What was put under a key and is not saved yet. Files are looked at when the record is saved.
  enum FieldContent: Sendable {
    case removed
    case value(Record.Value)
    case assets([CKAsset], isList: Bool)
    case refused(DatabaseError)

    init(_ value: (any CKRecordValueProtocol)?) {
      guard let value else {
        self = .removed
        return
      }
      do throws(DatabaseError) { self = try Self.content(of: value) } catch { self = .refused(error) }
    }

    private static func content(of value: any CKRecordValueProtocol) throws(DatabaseError) -> FieldContent {
      switch value {
      case let asset as CKAsset: return .assets([asset], isList: false)
      case let list as [Any]: return try content(of: list, typed: type(of: value))
      default: return .value(try plain(value))
      }
    }

    /// The value of anything but assets and lists.
    static func plain(_ value: Any) throws(DatabaseError) -> Record.Value {
      switch value {
      case let reference as CKRecord.Reference: return .reference(try reference.daybookReference)
      case let place as CLLocation: return .location(place.daybookLocation)
      case let text as String: return .string(text)
      case let bytes as Data: return .bytes(bytes)
      case let date as Date: return .date(date)
      case let number as NSNumber: return try self.number(number)
      default: throw unsupported(value)
      }
    }

    private static func number(_ number: NSNumber) throws(DatabaseError) -> Record.Value {
      // Safe: Foundation gives a constant text that ends with a zero byte.
      switch unsafe number.objCType.pointee {
      case CChar(UInt8(ascii: "d")), CChar(UInt8(ascii: "f")): return .double(number.doubleValue)
      case CChar(UInt8(ascii: "Q")):
        guard let exact = Int64(exactly: number.uint64Value) else { return try unsignedTooLarge() }
        return .int(exact)
      default: return .int(number.int64Value)
      }
    }

    private static func unsignedTooLarge() throws(DatabaseError) -> Record.Value {
      throw DatabaseError(
        .invalidArguments, "A whole number must lie in the range of Int64.", facts: .init(expected: "Int64", found: "UInt64"))
    }

    private static func content(of list: [Any], typed type: Any.Type) throws(DatabaseError) -> FieldContent {
      if list.isEmpty { return emptyList(type) }
      let assets = list.compactMap { $0 as? CKAsset }
      if assets.count == list.count { return .assets(assets, isList: true) }
      var values: [Record.Value] = []
      for element in list { values.append(try plain(element)) }
      guard let whole = Record.Value(list: values) else {
        throw DatabaseError(.invalidArguments, "The elements of a list are all of one kind.")
      }
      return .value(whole)
    }

    /// An empty list is one of what its type says; of texts where it says nothing.
    private static func emptyList(_ type: Any.Type) -> FieldContent {
      guard let element = (type as? any TypedList.Type)?.elementType else { return .value(.strings([])) }
      switch element {
      case is CKAsset.Type: return .assets([], isList: true)
      case is CKRecord.Reference.Type: return .value(.references([]))
      case is CLLocation.Type: return .value(.locations([]))
      case is Data.Type, is NSData.Type: return .value(.bytesList([]))
      case is Date.Type, is NSDate.Type: return .value(.dates([]))
      case is Double.Type, is Float.Type: return .value(.doubles([]))
      case is any BinaryInteger.Type, is Bool.Type, is NSNumber.Type: return .value(.ints([]))
      default: return .value(.strings([]))
      }
    }

    private static func unsupported(_ value: Any) -> DatabaseError {
      DatabaseError(.invalidArguments, "No field can hold the value.", facts: .init(found: "\(type(of: value))"))
    }

    /// What is read back; nil for what is not there, or could not be put there.
    var object: (any CKRecordValueProtocol)? {
      switch self {
      case .removed, .refused: nil
      case .value(let value): value.object
      case .assets(let list, isList: false): list.first
      case .assets(let list, isList: true) where list.isEmpty: list
      case .assets(let list, isList: true): NSArray(array: list)
      }
    }

    /// The value to save; nil to remove the key.
    var daybookValue: Record.Value? {
      get throws(DatabaseError) {
        switch self {
        case .removed: return nil
        case .refused(let error): throw error
        case .value(let value): return value
        case .assets(let list, let isList):
          var assets: [Asset] = []
          for asset in list { assets.append(try asset.daybookAsset) }
          return isList ? .assets(assets) : assets.first.map { .asset($0) }
        }
      }
    }
  }

  /// Arrays, so that an empty one can tell what it is an array of.
  protocol TypedList { static var elementType: Any.Type { get } }
  extension Array: TypedList { static var elementType: Any.Type { Element.self } }

  extension Record.Value {
    /// The list of some values; nil when they are of several kinds. Integers among doubles become doubles, if these have all their digits.
    init?(list: [Record.Value]) {
      func collect<T>(_ element: (Record.Value) -> T?) -> [T]? {
        let found = list.compactMap(element)
        return found.count == list.count ? found : nil
      }
      func double(_ value: Record.Value) -> Double? {
        if case .int(let number) = value { Double(exactly: number) } else { Double(recordValue: value) }
      }
      let whole: Record.Value? =
        switch list.first {
        case .string: collect { String(recordValue: $0) }.map { .strings($0) }
        case .int, .double:
          collect { Int64(recordValue: $0) }.map { .ints($0) } ?? collect { double($0) }.map { .doubles($0) }
        case .bytes: collect { Data(recordValue: $0) }.map { .bytesList($0) }
        case .date: collect { Date(recordValue: $0) }.map { .dates($0) }
        case .location: collect { Location(recordValue: $0) }.map { .locations($0) }
        case .reference: collect { Record.Reference(recordValue: $0) }.map { .references($0) }
        default: nil
        }
      guard let whole else { return nil }
      self = whole
    }

    /// The value under these names: numbers as `NSNumber` and lists as `NSArray`, so that each cast finds what it asks for. An empty list is an
    /// array, which any cast takes, too: it has to tell what it is a list of when it is put into a record again.
    var object: any CKRecordValueProtocol {
      switch self {
      case .string(let text): text
      case .int(let number): NSNumber(value: number)
      case .double(let number): NSNumber(value: number)
      case .bytes(let bytes): bytes
      case .date(let date): date
      case .location(let place): CLLocation(place)
      case .asset(let asset): CKAsset(asset)
      case .reference(let reference): CKRecord.Reference(reference)
      case .strings(let list): list.isEmpty ? [String]() : NSArray(array: list)
      case .ints(let list): list.isEmpty ? [Int64]() : NSArray(array: list.map { NSNumber(value: $0) })
      case .doubles(let list): list.isEmpty ? [Double]() : NSArray(array: list.map { NSNumber(value: $0) })
      case .bytesList(let list): list.isEmpty ? [Data]() : NSArray(array: list)
      case .dates(let list): list.isEmpty ? [Date]() : NSArray(array: list)
      case .locations(let list): list.isEmpty ? [CLLocation]() : NSArray(array: list.map { CLLocation($0) })
      case .assets(let list): list.isEmpty ? [CKAsset]() : NSArray(array: list.map { CKAsset($0) })
      case .references(let list): list.isEmpty ? [CKRecord.Reference]() : NSArray(array: list.map { CKRecord.Reference($0) })
      }
    }
  }
#endif
