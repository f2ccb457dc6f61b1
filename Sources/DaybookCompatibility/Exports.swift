// Off Apple's platforms the names come with Foundation, as CloudKit's do. On Apple's, the names are CloudKit's own.
@_exported import Foundation
