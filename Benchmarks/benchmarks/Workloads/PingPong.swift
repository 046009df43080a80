import ThreadingPlatform

/// Two threads that wake each other in turn.
///
/// One item is a round trip: there and back. On two processors most of it is the kernel's way to
/// an idle processor; on one it is two switches, and what the library adds shows.
enum PingPong {
  /// A batch over two signals, each given as what posts it and what waits for it.
  static func batch<Signal: TurnSignal>(
    on processors: Team.Placement, _ make: @escaping @Sendable () throws -> Signal
  ) -> @Sendable (Int) throws -> Int64 {
    { items in
      let there = try make()
      let back = try make()
      let served = Tally()
      let answered = Tally()
      let nanoseconds = try Team.run(2, on: processors) { player in
        if player == 0 {
          for _ in 0..<items {
            there.signal()
            back.wait()
            answered.increment()
          }
        } else {
          for _ in 0..<items {
            there.wait()
            served.increment()
            back.signal()
          }
        }
      }
      try WrongResult.unless("round trips served", served.value, is: items)
      try WrongResult.unless("round trips answered", answered.value, is: items)
      return nanoseconds
    }
  }
}

/// What one thread gives and another waits for, never twice before it is taken.
protocol TurnSignal: AnyObject, Sendable {
  func signal()
  func wait()
}

extension PipeSignal: TurnSignal {}
extension PosixSemaphoreSignal: TurnSignal {}
