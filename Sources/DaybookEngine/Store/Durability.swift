import Synchronization

/// How far a log is written and how far it is durable: one value, which the log's writer moves and any thread reads.
///
///     move                          when
///     setDurable                    an open has repaired the log, or another process has handed it over
///     didWrite                      a frame is written
///     didSync                       a sync of commits has ended
///     moveBack                      frames were taken back
///
/// Always true for who has the turn or `syncMonitor`: what is durable is written. `didWrite` is called with the turn, the others with
/// `syncMonitor`, so that what a sync has covered is published before anyone else hears of it.
struct Durability: ~Copyable {
  private let durableNumber = Atomic<UInt64>(0)
  private let writtenNumber = Atomic<UInt64>(0)
  private let writtenEnd = Atomic<UInt64>(0)
  private let syncedEnd = Atomic<UInt64>(0)

  /// Every frame up to this one is durable.
  var through: UInt64 { durableNumber.load(ordering: .acquiring) }
  /// The last frame that is written.
  var writtenThrough: UInt64 { writtenNumber.load(ordering: .acquiring) }
  /// Where it ends.
  var writtenOffset: UInt64 { writtenEnd.load(ordering: .acquiring) }
  /// How far the last sync has reached.
  var syncedOffset: UInt64 { syncedEnd.load(ordering: .acquiring) }

  func setDurable(through number: UInt64, offset: UInt64) {
    durableNumber.store(max(through, number), ordering: .releasing)
    writtenNumber.store(max(writtenThrough, number), ordering: .releasing)
    writtenEnd.store(offset, ordering: .releasing)
    syncedEnd.store(offset, ordering: .releasing)
  }

  func didWrite(_ header: FrameHeader) {
    writtenNumber.store(header.number, ordering: .releasing)
    writtenEnd.store(header.next, ordering: .releasing)
  }

  func didSync(through number: UInt64, offset: UInt64) {
    syncedEnd.store(offset, ordering: .releasing)
    durableNumber.store(max(through, number), ordering: .releasing)
  }

  /// The numbers behind `last` will be used again, so what a sync has said about them is dropped.
  func moveBack(to last: UInt64, offset: UInt64) {
    durableNumber.store(min(through, last), ordering: .releasing)
    writtenNumber.store(min(writtenThrough, last), ordering: .releasing)
    writtenEnd.store(min(writtenOffset, offset), ordering: .releasing)
    syncedEnd.store(min(syncedOffset, offset), ordering: .releasing)
  }
}
