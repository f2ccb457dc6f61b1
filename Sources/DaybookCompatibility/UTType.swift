#if !canImport(CloudKit)
  import Foundation

  /// A kind of content, as far as values in assets need it.
  public struct UTType: Hashable, Sendable {
    /// The identifier, such as `public.json`.
    public let identifier: String
    /// The ending of names of such files.
    public let preferredFilenameExtension: String?
    private let parents: [String]

    private init(_ identifier: String, _ ending: String?, _ parents: [String] = []) {
      self.identifier = identifier
      preferredFilenameExtension = ending
      self.parents = parents
    }

    /// A kind of one's own.
    public init(exportedAs identifier: String) { self.init(identifier, nil, ["public.data"]) }

    /// The kind of files with an ending; nil for one that is not known here.
    public init?(filenameExtension: String) {
      let known: [UTType] = [.json, .propertyList]
      guard let type = known.first(where: { $0.preferredFilenameExtension == filenameExtension.lowercased() }) else {
        return nil
      }
      self = type
    }

    /// Anything.
    public static let data = UTType("public.data", nil)
    /// JSON.
    public static let json = UTType("public.json", "json", ["public.text", "public.data"])
    /// A property list of any form.
    public static let propertyList = UTType("com.apple.property-list", "plist", ["public.data"])
    /// A property list as XML.
    public static let xmlPropertyList = UTType(
      "com.apple.xml-property-list", "plist", ["com.apple.property-list", "public.xml", "public.text", "public.data"])
    /// A property list in Apple's binary form.
    public static let binaryPropertyList = UTType(
      "com.apple.binary-property-list", "plist", ["com.apple.property-list", "public.data"])

    /// Whether the kind is the other one, or a special one of it.
    public func conforms(to type: UTType) -> Bool { identifier == type.identifier || parents.contains(type.identifier) }

    /// Whether the kind was made up for an unknown ending: never.
    public var isDynamic: Bool { false }

    /// The kind of a content that says itself what it is; nil for another.
    init?(sniffing data: Data) {
      if data.starts(with: "bplist".utf8) {
        self = .binaryPropertyList
      } else if data.starts(with: "<?xml".utf8) {
        self = .xmlPropertyList
      } else {
        return nil
      }
    }
  }

  extension URLResourceKey {
    /// The kind of a file's content.
    public static let contentTypeKey = URLResourceKey(rawValue: "NSURLContentTypeKey")
  }

  extension URLResourceValues {
    /// The kind of a file's content: not known off Apple's platforms.
    public var contentType: UTType? { nil }
  }
#endif
