/// The order of keys: plain byte order, shorter first where one key begins the other.
///
/// Pages compare the first four bytes after their common prefix as one number (the key's *head*), so most comparisons of a
/// search touch no key at all. The remaining bytes are compared here, eight at a time.

/// The first four bytes as a big-endian number, missing bytes as zero. `a < b` implies `head(a) <= head(b)`.
@_transparent
func keyHead(_ key: ByteView) -> UInt32 {
  // Safe: each case loads only bytes below `count`.
  if key.count >= 4 { return unsafe key.base.loadUnaligned(as: UInt32.self).bigEndian }
  var head: UInt32 = 0
  var index = 0
  while index < key.count {
    head |= UInt32(key[index]) &<< UInt32(24 &- 8 &* index)
    index &+= 1
  }
  return head
}

/// Negative, zero or positive as `left` sorts before, with or after `right`.
@_transparent
package func compareKeys(_ left: ByteView, _ right: ByteView) -> Int {
  let shared = min(left.count, right.count)
  var offset = 0
  while offset &+ 8 <= shared {
    // Safe: eight bytes at `offset` lie within both keys.
    let a = unsafe left.base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    let b = unsafe right.base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    if a != b { return a.bigEndian < b.bigEndian ? -1 : 1 }
    offset &+= 8
  }
  while offset < shared {
    // Safe: `offset` is below both counts.
    let a = unsafe left.base.load(fromByteOffset: offset, as: UInt8.self)
    let b = unsafe right.base.load(fromByteOffset: offset, as: UInt8.self)
    if a != b { return a < b ? -1 : 1 }
    offset &+= 1
  }
  return left.count &- right.count
}

/// How many leading bytes two keys share.
package func commonPrefixLength(_ left: ByteView, _ right: ByteView) -> Int {
  let shared = min(left.count, right.count)
  var length = 0
  while length < shared && left[length] == right[length] { length += 1 }
  return length
}
