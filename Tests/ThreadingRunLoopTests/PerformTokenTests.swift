import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("Taking posted blocks back", .endsInTime)
struct PerformTokenTests {
  @Test("blocks of a cancelled token do not run, those of another do")
  func token() throws {
    let log = try onOwnThread {
      let loop = ThreadRunLoop.current
      let log = Shared<[Int]>([])
      let (first, second) = (PerformToken(), PerformToken())
      for number in 0..<6 {
        loop.perform(with: number % 2 == 0 ? first : second) {
          log.append(number)
          if number == 1 { second.cancel() }
        }
      }
      first.cancel()
      #expect(first.isCancelled)
      loop.perform(with: first) { log.append(100) }
      loop.run()
      return log.value
    }
    #expect(log == [1])
  }

  @Test("a delayed block runs after its delay; cancelling its timer takes it back")
  func delayed() throws {
    let (log, reason) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let log = Shared<[String]>([])
      let start = MonotonicInstant.now
      _ = try? loop.perform(after: .milliseconds(10)) {
        log.append(start.duration(to: .now) >= .milliseconds(10) ? "late enough" : "early")
      }
      let taken = try? loop.perform(after: .milliseconds(5)) { log.append("taken back") }
      taken?.cancel()
      let reason = loop.run()
      return (log.value, reason)
    }
    #expect(log == ["late enough"])
    #expect(reason == .finished)
  }
}
