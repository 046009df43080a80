import Glibc
import TestSupport
import Testing
import ThreadingPlatform

@Suite("SignalSubscription", .endsInTime)
struct SignalSubscriptionTests {
  @Test("deliveries are counted, and taken once")
  func counts() throws {
    let signal = OwnSignal.take()
    let subscription = try SignalSubscription(signal: signal)
    #expect(subscription.takeCount() == 0)
    for _ in 0..<5 { raiseHere(signal) }
    #expect(subscription.takeCount() == 5)
    #expect(subscription.takeCount() == 0)
  }

  @Test("after the end nothing more is counted, and what was can still be taken")
  func ended() throws {
    let signal = OwnSignal.take()
    let other = try SignalSubscription(signal: signal)
    let subscription = try SignalSubscription(signal: signal)
    raiseHere(signal)
    subscription.end()
    subscription.end()
    raiseHere(signal)
    #expect(subscription.takeCount() == 1)
    #expect(other.takeCount() == 2)
  }

  @Test("a signal that is sent while subscriptions come and go reaches one that stays")
  func churn() throws {
    let signal = OwnSignal.take()
    let stays = try SignalSubscription(signal: signal)
    try concurrently(3) { index in
      for _ in 0..<400 {
        if index == 0 {
          raiseHere(signal)
        } else {
          _ = try? SignalSubscription(signal: signal)
        }
      }
    }
    #expect(stays.takeCount() == 400)
  }

  @Test("a real-time signal can be subscribed to, the C library's own cannot")
  func range() throws {
    _ = try SignalSubscription(signal: OwnSignal.take())
    for signal: CInt in [32, 33] {
      #expect(throws: ThreadingError.self) { try SignalSubscription(signal: signal) }
    }
  }
}
