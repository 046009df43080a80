internal import ThreadingLocks
internal import ThreadingPlatform
internal import ThreadingThreads

extension ThreadPool {
  /// Calls `body` with pieces of `0..<count` on the calling thread and on threads of the pool, until all are
  /// done, one has thrown, or `goesOn` has said no.
  ///
  /// - Parameters:
  ///   - count: how many items there are.
  ///   - piece: how many go to a thread at once; nil has it found.
  ///   - goesOn: asked before each piece.
  ///   - body: does the items of a piece.
  /// - Returns: whether all pieces were done.
  /// - Throws: the error that was thrown first.
  @usableFromInline
  func forEachPiece<Failure: Error>(
    of count: Int, piece: Int?, while goesOn: (@Sendable () -> Bool)?,
    _ body: @Sendable (Range<Int>) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    if let piece {
      require(
        piece >= 1, "a parallel loop in pieces of \(piece) items does nothing; at least 1")
    }
    guard count > 0 else { return true }
    let end = Locked<LoopEnd<Failure>>(.done)
    let workers = max(1, min(core.closureWidth, AvailableParallelism.initial))
    withoutActuallyEscaping(body) { body in
      let job = ParallelJob(count: count, piece: piece, workers: workers) { range in
        if let goesOn, !goesOn() {
          end.withLock { if case .done = $0 { $0 = .stopped } }
          return false
        }
        do throws(Failure) {
          try body(range)
          return true
        } catch {
          end.withLock { if case .failed = $0 {} else { $0 = .failed(error) } }
          return false
        }
      }
      job.run(on: core)
    }
    switch end.withLock({ $0 }) {
    case .done: return true
    case .stopped: return false
    case .failed(let error): throw error
    }
  }
}

/// How a parallel loop has ended so far.
private enum LoopEnd<Failure: Error> {
  case done
  case stopped
  case failed(Failure)
}
