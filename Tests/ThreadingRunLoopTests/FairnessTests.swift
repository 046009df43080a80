import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

/// The bound that ``ThreadRunLoop`` promises: what is ready is served within the pass in which it
/// became so or the next one, and a pass has an end.
@Suite("Nothing starves", .endsInTime)
struct FairnessTests {
  /// Things that always have more to do.
  enum Hog: CaseIterable {
    case readySource, blocks, timerOfZero, selfSignalling, idleBlocks, mailbox, manyPosters
  }

  @Test(
    "beside each thing that always has more to do, everything else is served",
    arguments: Hog.allCases)
  func bound(hog: Hog) throws {
    let thread = try LoopThread()
    let loop = thread.loop
    let stopHog = Shared(false)
    let end = try start(hog, loop, stopHog)
    // In what pass each thing was served, since it was asked for.
    for _ in 0..<20 {
      let pipe = Pipe()
      let served = Shared<[Int]>([])
      let before = Shared(0)
      // From one place in a pass, so that the count of passes has a meaning.
      try loop.performAndWait {
        before.set(loop.counters.passes)
        loop.perform { served.append(loop.counters.passes - before.value) }
        try loop.add(
          ThreadTimer(after: .zero) { _ in served.append(loop.counters.passes - before.value) })
        try loop.add(
          DescriptorSource(pipe.reader, for: .readable) { source, _ in
            served.append(loop.counters.passes - before.value)
            source.cancel()
          })
        let custom = CustomInputSource { source in
          served.append(loop.counters.passes - before.value)
          source.cancel()
        }
        try loop.add(custom)
        custom.signal()
        pipe.write()
      }
      served.waitUntil { $0.count == 4 }
      // Two posters are up to 1,000 blocks ahead, of which a pass runs 256 twice.
      let bound = hog == .manyPosters ? 5 : 2
      #expect(served.value.allSatisfy { $0 <= bound }, "\(hog): \(served.value)")
    }
    // The end of the run is no exception.
    stopHog.set(true)
    end()
    thread.end()
  }

  private func start(
    _ hog: Hog, _ loop: ThreadRunLoop, _ isToStop: Shared<Bool>
  ) throws -> () -> Void {
    switch hog {
    case .readySource:
      let pipe = Pipe()
      pipe.write()
      try loop.add(DescriptorSource(pipe.reader, for: .readable) { _, _ in _ = pipe })
    case .blocks:
      let again = Again(isToStop) { block in loop.perform(block) }
      again.go()
    case .timerOfZero:
      try loop.add(ThreadTimer(every: .zero) { _ in })
    case .selfSignalling:
      let source = CustomInputSource { $0.signal() }
      try loop.add(source)
      source.signal()
    case .idleBlocks:
      let again = Again(isToStop) { block in loop.performWhenIdle(block) }
      again.go()
    case .mailbox:
      let box = Shared<Mailbox<Int>?>(nil)
      let mailbox = Mailbox<Int> { number in if !isToStop.value { box.value?.send(number) } }
      box.set(mailbox)
      try loop.add(mailbox)
      for number in 0..<1_000 { mailbox.send(number) }
      return { box.set(nil) }
    case .manyPosters:
      let posters = try (0..<2).map { _ in
        try inBackground {
          // As fast as it can, but not so far ahead that the memory fills up.
          while !isToStop.value {
            for _ in 0..<500 { loop.perform {} }
            try? loop.performAndWait {}
          }
        }
      }
      return { for join in posters { join() } }
    }
    return {}
  }
}

/// A block that asks for itself anew each time.
private final class Again: Sendable {
  private let isToStop: Shared<Bool>
  private let ask: @Sendable (@escaping @Sendable () -> Void) -> Void

  init(
    _ isToStop: Shared<Bool>, _ ask: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.isToStop = isToStop
    self.ask = ask
  }

  func go() { ask { [self] in if !isToStop.value { go() } } }
}
