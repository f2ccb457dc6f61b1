/// What the engine takes for granted of the machine.
///
/// `Int` has 64 bits everywhere: it counts the bytes of files, and large files are mapped whole. With 32 bits some literals
/// would not compile, and some shifts would quietly become zero; so nothing compiles there, and this says why.

#if !_pointerBitWidth(_64)
  #error("Daybook needs a machine with 64-bit pointers; arm64_32, the one of most watches, has none")
#endif
