extension DatabaseError {
  /// The same error, with the record that it is about.
  func adding(_ id: Record.ID, key: String? = nil) -> DatabaseError {
    adding { facts in
      facts.zone = id.zone
      facts.name = id.name
      if let key { facts.key = key }
    }
  }
}
