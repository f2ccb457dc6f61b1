extension DecodingError {
  /// What a decoder throws for a value that a check has refused.
  init(_ error: DatabaseError, _ decoder: any Decoder) {
    self = .dataCorrupted(
      .init(codingPath: decoder.codingPath, debugDescription: error.message, underlyingError: error))
  }
}
