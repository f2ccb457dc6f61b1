/// What the engine assumes about the machine.
///
/// `Int` has 64 bits: it counts the bytes of files, and large files are mapped whole. With 32 bits, some literals would not
/// compile and some shifts would silently become zero. So the engine refuses to compile there, and says why.

#if !_pointerBitWidth(_64)
  #error("Daybook needs a machine with 64-bit pointers; arm64_32, the one of most watches, has none")
#endif
