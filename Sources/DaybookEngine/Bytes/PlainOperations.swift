#if DEBUG
  /// What the standard library does for any type, for the types of this library: for builds without optimisation.
  ///
  /// There, generic code is not made into code for one type: a load of eight bytes calls a function that asks the type's
  /// metadata how long it is and copies so many bytes, 50 instructions for one; `littleEndian` looks for a conformance at run
  /// time. These have the names of what they replace and say the type, so the compiler prefers them, and they are part of
  /// their callers (`@_transparent`). An optimised build does not have them: there, both are the same instruction.
  ///
  /// A load or store through a typed pointer may be misaligned here, where what it replaces allows it. The language promises nothing for that; without optimisation
  /// it is one instruction of the processor, which allows it on all that the library runs on.

  extension UnsafeRawPointer {
    @usableFromInline @_transparent
    package func load(as type: UInt8.Type) -> UInt8 { unsafe assumingMemoryBound(to: UInt8.self).pointee }

    @usableFromInline @_transparent
    package func load(fromByteOffset offset: Int, as type: UInt8.Type) -> UInt8 {
      unsafe (self + offset).assumingMemoryBound(to: UInt8.self).pointee
    }

    @usableFromInline @_transparent
    package func load(as type: UInt64.Type) -> UInt64 {
      assert(UInt(bitPattern: self) & 7 == 0, "eight bytes are loaded from an aligned address")
      return unsafe assumingMemoryBound(to: UInt64.self).pointee
    }

    @usableFromInline @_transparent
    package func loadUnaligned(as type: UInt16.Type) -> UInt16 { unsafe assumingMemoryBound(to: UInt16.self).pointee }

    @usableFromInline @_transparent
    package func loadUnaligned(fromByteOffset offset: Int, as type: UInt16.Type) -> UInt16 {
      unsafe (self + offset).assumingMemoryBound(to: UInt16.self).pointee
    }

    @usableFromInline @_transparent
    package func loadUnaligned(as type: UInt32.Type) -> UInt32 { unsafe assumingMemoryBound(to: UInt32.self).pointee }

    @usableFromInline @_transparent
    package func loadUnaligned(fromByteOffset offset: Int, as type: UInt32.Type) -> UInt32 {
      unsafe (self + offset).assumingMemoryBound(to: UInt32.self).pointee
    }

    @usableFromInline @_transparent
    package func loadUnaligned(as type: UInt64.Type) -> UInt64 { unsafe assumingMemoryBound(to: UInt64.self).pointee }

    @usableFromInline @_transparent
    package func loadUnaligned(fromByteOffset offset: Int, as type: UInt64.Type) -> UInt64 {
      unsafe (self + offset).assumingMemoryBound(to: UInt64.self).pointee
    }
  }

  extension UnsafeMutableRawPointer {
    @usableFromInline @_transparent
    package func load(as type: UInt8.Type) -> UInt8 { unsafe assumingMemoryBound(to: UInt8.self).pointee }

    @usableFromInline @_transparent
    package func load(fromByteOffset offset: Int, as type: UInt8.Type) -> UInt8 {
      unsafe (self + offset).assumingMemoryBound(to: UInt8.self).pointee
    }

    @usableFromInline @_transparent
    package func load(as type: UInt64.Type) -> UInt64 {
      assert(UInt(bitPattern: self) & 7 == 0, "eight bytes are loaded from an aligned address")
      return unsafe assumingMemoryBound(to: UInt64.self).pointee
    }

    @usableFromInline @_transparent
    package func load(fromByteOffset offset: Int, as type: UInt16.Type) -> UInt16 {
      assert((UInt(bitPattern: self) &+ UInt(bitPattern: offset)) & 1 == 0, "two bytes are loaded from an aligned address")
      return unsafe (self + offset).assumingMemoryBound(to: UInt16.self).pointee
    }

    @usableFromInline @_transparent
    package func load(fromByteOffset offset: Int, as type: UInt64.Type) -> UInt64 {
      assert((UInt(bitPattern: self) &+ UInt(bitPattern: offset)) & 7 == 0, "eight bytes are loaded from an aligned address")
      return unsafe (self + offset).assumingMemoryBound(to: UInt64.self).pointee
    }

    @usableFromInline @_transparent
    package func loadUnaligned(fromByteOffset offset: Int, as type: UInt16.Type) -> UInt16 {
      unsafe (self + offset).assumingMemoryBound(to: UInt16.self).pointee
    }

    @usableFromInline @_transparent
    package func loadUnaligned(fromByteOffset offset: Int, as type: UInt32.Type) -> UInt32 {
      unsafe (self + offset).assumingMemoryBound(to: UInt32.self).pointee
    }

    @usableFromInline @_transparent
    package func loadUnaligned(fromByteOffset offset: Int, as type: UInt64.Type) -> UInt64 {
      unsafe (self + offset).assumingMemoryBound(to: UInt64.self).pointee
    }

    @usableFromInline @_transparent
    package func storeBytes(of value: UInt8, as type: UInt8.Type) {
      unsafe assumingMemoryBound(to: UInt8.self).pointee = value
    }

    @usableFromInline @_transparent
    package func storeBytes(of value: UInt8, toByteOffset offset: Int, as type: UInt8.Type) {
      unsafe (self + offset).assumingMemoryBound(to: UInt8.self).pointee = value
    }

    @usableFromInline @_transparent
    package func storeBytes(of value: UInt16, as type: UInt16.Type) {
      unsafe assumingMemoryBound(to: UInt16.self).pointee = value
    }

    @usableFromInline @_transparent
    package func storeBytes(of value: UInt16, toByteOffset offset: Int, as type: UInt16.Type) {
      unsafe (self + offset).assumingMemoryBound(to: UInt16.self).pointee = value
    }

    @usableFromInline @_transparent
    package func storeBytes(of value: UInt32, as type: UInt32.Type) {
      unsafe assumingMemoryBound(to: UInt32.self).pointee = value
    }

    @usableFromInline @_transparent
    package func storeBytes(of value: UInt32, toByteOffset offset: Int, as type: UInt32.Type) {
      unsafe (self + offset).assumingMemoryBound(to: UInt32.self).pointee = value
    }

    @usableFromInline @_transparent
    package func storeBytes(of value: UInt64, as type: UInt64.Type) {
      unsafe assumingMemoryBound(to: UInt64.self).pointee = value
    }

    @usableFromInline @_transparent
    package func storeBytes(of value: UInt64, toByteOffset offset: Int, as type: UInt64.Type) {
      unsafe (self + offset).assumingMemoryBound(to: UInt64.self).pointee = value
    }
  }

  // What numbers in files are: little-endian, as the processors are that the library runs on.
  #if _endian(little)
    extension UInt16 {
      @usableFromInline @_transparent
      package init(littleEndian value: UInt16) { self = value }
      @usableFromInline @_transparent
      package var littleEndian: UInt16 { self }
    }

    extension UInt32 {
      @usableFromInline @_transparent
      package init(littleEndian value: UInt32) { self = value }
      @usableFromInline @_transparent
      package var littleEndian: UInt32 { self }
      @usableFromInline @_transparent
      package var bigEndian: UInt32 { byteSwapped }
    }

    extension UInt64 {
      @usableFromInline @_transparent
      package init(littleEndian value: UInt64) { self = value }
      @usableFromInline @_transparent
      package var littleEndian: UInt64 { self }
      @usableFromInline @_transparent
      package var bigEndian: UInt64 { byteSwapped }
    }
  #endif

  extension Array {
    @_transparent
    package var isEmpty: Bool { count == 0 }
    @_transparent
    package var indices: Range<Int> { unsafe Range(uncheckedBounds: (0, count)) }
    @_transparent
    package var first: Element? { count == 0 ? nil : self[0] }
    @_transparent
    package var last: Element? { count == 0 ? nil : self[count &- 1] }

    @discardableResult
    package mutating func removeLast() -> Element { remove(at: count - 1) }

    package mutating func popLast() -> Element? { count == 0 ? nil : remove(at: count &- 1) }

    /// What a path through a tree has is taken out one by one.
    package mutating func removeAll(keepingCapacity: Bool) {
      if !keepingCapacity { return self = [] }
      if count > 4 { return replaceSubrange(0..<count, with: EmptyCollection()) }
      while count > 0 { _ = remove(at: count &- 1) }
    }
  }

  /// What `initializeMemory` of zeros copies from: it would store one byte after the other.
  @safe private enum Zeros {
    static let byteCount = 1 << 16
    nonisolated(unsafe) static let memory = unsafe make()

    private static func make() -> UnsafeRawPointer {
      let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: byteCount)
      unsafe bytes.initialize(repeating: 0, count: byteCount)
      return UnsafeRawPointer(bytes)
    }
  }

  extension UnsafeMutableRawPointer {
    @usableFromInline
    package func initializeMemory(as type: UInt8.Type, repeating value: UInt8, count: Int) {
      assert(value == 0, "only zeros are written so")
      var done = 0
      while done < count {
        let step = min(Zeros.byteCount, count &- done)
        unsafe (self + done).copyMemory(from: Zeros.memory, byteCount: step)
        done &+= step
      }
    }
  }

  @usableFromInline @_transparent
  package func min(_ first: Int, _ second: Int) -> Int { second < first ? second : first }

  @usableFromInline @_transparent
  package func min(_ first: UInt64, _ second: UInt64) -> UInt64 { second < first ? second : first }

  @usableFromInline @_transparent
  package func max(_ first: Int, _ second: Int) -> Int { second >= first ? second : first }
#endif
