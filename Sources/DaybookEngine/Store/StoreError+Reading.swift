/// A failed read does not mean that the file is damaged: wherever it appears, it becomes `.disk`.
extension StoreError {
  /// For a block in which calls of the disk and of the store fail: `DiskFailure` or `StoreError`.
  init(diskOrStore error: any Error) {
    self = error as? StoreError ?? .disk(error as! DiskFailure)
  }

  package init(_ fault: PageFault) {
    if let failure = fault.failure { self = .disk(failure) } else { self = .page(fault) }
  }

  package init(_ fault: LogFault) {
    if case .page(let page) = fault { self.init(page) } else { self = .log(fault) }
  }
}
