internal import Synchronization
internal import ThreadingPlatform

/// What a loop is calling at the moment, for watchdogs. Kept up only while one watches.
struct CallRecord: ~Copyable, Sendable {
  /// How many watchdogs watch.
  private let watchers = Atomic<Int>(0)
  /// The call in progress, packed; 0 for none.
  private let call = Atomic<UInt64>(0)
  /// When it began, in nanoseconds of the monotonic clock.
  private let since = Atomic<Int64>(0)

  /// A call of the loop: what kind of thing in the high byte, the number of what its user calls it (see
  /// ``CallLabel``) in the 24 bits below, and its own number.
  struct Call {
    let packed: UInt64

    init(_ kind: RunLoopWatchdog.Activity, label: UInt32) {
      let (tag, number): (UInt64, CInt) =
        switch kind {
        case .block: (1, 0)
        case .idleBlock: (2, 0)
        case .timer: (3, 0)
        case .observer: (4, 0)
        case .signalledSource: (5, 0)
        case .mainQueue: (6, 0)
        case .files: (10, 0)
        case .descriptor(let number): (7, number)
        case .signal(let number): (8, number)
        case .process(let number): (9, number)
        }
      packed = tag << 56 | UInt64(label) << 32 | UInt64(UInt32(bitPattern: number))
    }

    static func activity(_ packed: UInt64) -> RunLoopWatchdog.Activity? {
      let number = CInt(bitPattern: UInt32(truncatingIfNeeded: packed))
      switch packed >> 56 {
      case 1: return .block
      case 2: return .idleBlock
      case 3: return .timer
      case 4: return .observer
      case 5: return .signalledSource
      case 6: return .mainQueue
      case 7: return .descriptor(number)
      case 8: return .signal(number)
      case 9: return .process(number)
      case 10: return .files
      default: return nil
      }
    }

    static func label(_ packed: UInt64) -> UInt32 {
      UInt32(truncatingIfNeeded: packed >> 32) & 0xFF_FFFF
    }
  }

  /// A call as a watchdog sees it.
  struct InProgress {
    let activity: RunLoopWatchdog.Activity
    let label: UInt32
    let since: MonotonicInstant
  }

  /// What was in the record before a call, to be put back after it: calls nest.
  struct Outer {
    fileprivate let call: UInt64
    fileprivate let since: Int64
  }

  /// A call begins. A load while nobody watches. Only for the loop's thread.
  @inline(__always)
  borrowing func begin(
    _ kind: @autoclosure () -> RunLoopWatchdog.Activity, _ label: @autoclosure () -> UInt32 = 0
  ) -> Outer? {
    // relaxed: a watchdog that has just come learns of the next call.
    watchers.load(ordering: .relaxed) == 0 ? nil : beginWatched(Call(kind(), label: label()))
  }

  /// The call ends.
  @inline(__always)
  borrowing func end(_ outer: Outer?) {
    guard let outer else { return }
    put(outer.call, outer.since)
  }

  private borrowing func beginWatched(_ new: Call) -> Outer {
    let outer = Outer(call: call.load(ordering: .relaxed), since: since.load(ordering: .relaxed))
    put(new.packed, MonotonicInstant.now.nanoseconds)
    return outer
  }

  private borrowing func put(_ newCall: UInt64, _ newSince: Int64) {
    // In this order a reader that finds the new moment finds the new call or none. releasing: each
    // store carries the ones before it; pairs with the acquires in current().
    call.store(0, ordering: .releasing)
    since.store(newSince, ordering: .releasing)
    call.store(newCall, ordering: .releasing)
  }

  /// The call in progress, and when it began; nil when there is none or it is just changing.
  borrowing func current() -> InProgress? {
    let before = since.load(ordering: .acquiring)
    let seen = call.load(ordering: .acquiring)
    guard before == since.load(ordering: .acquiring) else { return nil }
    return Call.activity(seen).map {
      InProgress(
        activity: $0, label: Call.label(seen), since: MonotonicInstant(nanoseconds: before))
    }
  }

  borrowing func addWatcher() { watchers.wrappingAdd(1, ordering: .relaxed) }
  borrowing func removeWatcher() { watchers.wrappingSubtract(1, ordering: .relaxed) }
}
