// Off Apple's platforms the names come with Foundation, as CloudKit's do. On Apple's they are CloudKit's own: see DECISIONS.md.

#if canImport(CloudKit)
  @_exported import CloudKit
  @_exported import CoreLocation
#else
  @_exported import Foundation
#endif
