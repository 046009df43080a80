import Glibc
import TestSupport
import Testing
import ThreadingPlatform

@Suite("SignalSubscription", .endsInTime)
struct SignalSubscriptionTests {
  @Test("deliveries are counted, and taken once")
  func counts() throws {
    let subscription = try SignalSubscription(signal: 42)
    #expect(subscription.takeCount() == 0)
    for _ in 0..<5 { raiseHere(42) }
    #expect(subscription.takeCount() == 5)
    #expect(subscription.takeCount() == 0)
  }

  @Test("after the end nothing more is counted, and what was can still be taken")
  func ended() throws {
    let other = try SignalSubscription(signal: 43)
    let subscription = try SignalSubscription(signal: 43)
    raiseHere(43)
    subscription.end()
    subscription.end()
    raiseHere(43)
    #expect(subscription.takeCount() == 1)
    #expect(other.takeCount() == 2)
  }

  @Test("a signal that is sent while subscriptions come and go reaches one that stays")
  func churn() throws {
    let stays = try SignalSubscription(signal: 44)
    try concurrently(3) { index in
      for _ in 0..<400 {
        if index == 0 {
          raiseHere(44)
        } else {
          _ = try? SignalSubscription(signal: 44)
        }
      }
    }
    #expect(stays.takeCount() == 400)
  }

  @Test("a real-time signal can be subscribed to, the C library's own cannot")
  func range() throws {
    _ = try SignalSubscription(signal: 40)
    for signal: CInt in [32, 33] {
      #expect(throws: ThreadingError.self) { try SignalSubscription(signal: signal) }
    }
  }
}
