#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif
import Synchronization

/// The number of this process, without a call of the system for each question.
///
/// Every transaction asks whether it is in the process that opened its store (row: kv-commit-unsynced-1), and Linux's C library
/// asks the system each time. Here the number is in a page that Linux gives to no child: there, also after a bare system call, the page
/// is zeros, and the child asks once. Where the system has no such pages it is asked each time; Apple's library keeps the number itself.
@safe enum ProcessNumber {
  static var own: Int32 {
    #if os(Linux)
      guard let page = unsafe page else { return getpid() }
      // Safe: the page stays for as long as the process.
      let known = unsafe page.pointee.load(ordering: .relaxed)
      if known != 0 { return known }
      let number = getpid()
      // Threads that come here at once have the same number.
      unsafe page.pointee.store(number, ordering: .relaxed)
      return number
    #else
      return getpid()
    #endif
  }

  #if os(Linux)
    nonisolated(unsafe) private static let page: UnsafeMutablePointer<Atomic<Int32>>? = {
      let byteCount = 4096
      let memory = unsafe mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
      guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { return nil }
      // 18 is MADV_WIPEONFORK, of Linux 4.14.
      guard unsafe madvise(memory, byteCount, 18) == 0 else {
        unsafe munmap(memory, byteCount)
        return nil
      }
      return unsafe memory.bindMemory(to: Atomic<Int32>.self, capacity: 1)
    }()
  #endif
}
