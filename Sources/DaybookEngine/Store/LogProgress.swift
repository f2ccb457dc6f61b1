import Synchronization

/// How far a log is written and how far it is durable. Only its writer moves this (`LogWriter`); any thread may ask the writer.
///
///     move          when                                                          with
///     begin         an open has repaired the log, or others have handed it over   `syncMonitor`, and the turn of a store in use
///     didWrite      a frame is written                                            the turn
///     didSync       a sync of commits has ended                                   `syncMonitor`
///     moveBack      frames were taken back                                        both
///
/// Always true for a thread with the turn or `syncMonitor`: what is durable is written. Without either, two of the four words may
/// not fit together. With `syncMonitor` nothing becomes durable: what a sync covers is published before anyone else hears of it.
struct LogProgress: ~Copyable {
  private let durableWord = Atomic<UInt64>(0)
  private let writtenWord = Atomic<UInt64>(0)
  private let writtenEnd = Atomic<UInt64>(0)
  private let syncedEnd = Atomic<UInt64>(0)

  /// Every frame up to this one is durable.
  var durableNumber: UInt64 { durableWord.load(ordering: .acquiring) }
  /// The last frame that is written.
  var writtenNumber: UInt64 { writtenWord.load(ordering: .acquiring) }
  /// Where it ends.
  var writtenOffset: UInt64 { writtenEnd.load(ordering: .acquiring) }
  /// How far the last sync has reached.
  var syncedOffset: UInt64 { syncedEnd.load(ordering: .acquiring) }

  /// The last frame that is written, and where it ends; with `syncMonitor`. A frame that is written meanwhile may be counted without
  /// its bytes, never the bytes without the frame: the offset is stored last and read first.
  var written: (number: UInt64, offset: UInt64) {
    let offset = writtenOffset
    return (writtenNumber, offset)
  }

  func begin(durable number: UInt64, writtenOffset offset: UInt64) {
    writtenWord.store(max(writtenNumber, number), ordering: .releasing)
    writtenEnd.store(offset, ordering: .releasing)
    durableWord.store(max(durableNumber, number), ordering: .releasing)
    syncedEnd.store(offset, ordering: .releasing)
  }

  func didWrite(_ header: FrameHeader) {
    writtenWord.store(header.number, ordering: .releasing)
    writtenEnd.store(header.next, ordering: .releasing)
  }

  func didSync(_ number: UInt64, offset: UInt64) {
    syncedEnd.store(offset, ordering: .releasing)
    durableWord.store(max(durableNumber, number), ordering: .releasing)
  }

  /// The numbers behind `last` will be used again, so what a sync has said about them is dropped.
  func moveBack(to last: UInt64, offset: UInt64) {
    durableWord.store(min(durableNumber, last), ordering: .releasing)
    syncedEnd.store(min(syncedOffset, offset), ordering: .releasing)
    writtenWord.store(min(writtenNumber, last), ordering: .releasing)
    writtenEnd.store(min(writtenOffset, offset), ordering: .releasing)
  }
}
