extension Query {
  /// A value of a field, and how many of the records that a query finds have it.
  public struct ValueCount: Hashable, Sendable {
    /// The value; of a list one of its elements.
    public let value: Record.Value
    /// How many records have it. A list with an element twice has it once.
    public let count: Int
  }
}
