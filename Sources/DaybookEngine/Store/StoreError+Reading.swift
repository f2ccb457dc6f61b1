/// A failed read does not mean that the file is damaged: wherever it appears, it becomes `.disk`.
extension StoreError {
  package init(_ fault: PageFault) {
    if let failure = fault.failure { self = .disk(failure) } else { self = .page(fault) }
  }

  package init(_ fault: LogFault) {
    if case .page(let page) = fault { self.init(page) } else { self = .log(fault) }
  }
}
