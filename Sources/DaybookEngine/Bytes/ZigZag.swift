/// Signed numbers as unsigned ones: 0, -1, 1, -2, … become 0, 1, 2, 3, …
public enum ZigZag {
  @inlinable @_transparent
  public static func encode(_ value: Int64) -> UInt64 { UInt64(bitPattern: value &<< 1 ^ value &>> 63) }

  @inlinable @_transparent
  public static func decode(_ value: UInt64) -> Int64 {
    Int64(bitPattern: value &>> 1) ^ (0 &- Int64(bitPattern: value & 1))
  }
}
