import BenchmarkSupport
import Threading

/// All locks at all numbers of threads, slice by slice in turn.
struct Contest: Sendable {
  let options: Options
  let entrants: [Entrant]
  let progress: ProgressLine
  let interruption: Interruption
  private let book = Book()

  /// What has been measured by now.
  private final class Book: Sendable {
    struct Place: Hashable {
      let threads: Int
      let entrant: Int
    }

    let slices = Locked<[Place: (plain: [Slice], timed: [Slice])]>([:])
    let failure = Locked<(any Error)?>(nil)
  }

  init(
    _ options: Options, _ entrants: [Entrant], progress: ProgressLine, interruption: Interruption
  ) {
    self.options = options
    self.entrants = entrants
    self.progress = progress
    self.interruption = interruption
  }

  /// Measures until all is done, a lock does not hold, the system refuses a thread, or an interruption
  /// is asked for.
  func hold() {
    do {
      let speed = Work.stepsPerNanosecond()
      for threads in options.threads {
        progress.begins("\(threads) threads")
        for round in 0..<options.slices {
          let setting = Setting(
            threads: threads, stepsInside: Int((Double(options.inside) * speed).rounded()),
            stepsOutside: Int((Double(options.outside) * speed).rounded()),
            nanoseconds: Int64(options.slice) * 1_000_000, placement: options.placement,
            timesTurns: !round.isMultiple(of: 2))
          for place in entrants.indices {
            // Starting one further each round, so that no lock always follows the same other.
            let index = (place + round / 2) % entrants.count
            progress.tells(
              "slice \(round + 1) of \(options.slices), \(entrants[index].name)",
              share: Double(round) / Double(options.slices))
            if interruption.requested != nil { return }
            let slice = try entrants[index].slice(setting)
            book.slices.withLock { slices in
              var known = slices[.init(threads: threads, entrant: index)] ?? ([], [])
              if setting.timesTurns { known.timed.append(slice) } else { known.plain.append(slice) }
              slices[.init(threads: threads, entrant: index)] = known
            }
          }
        }
      }
    } catch {
      book.failure.withLock { $0 = error }
    }
  }

  /// Why the contest was ended, if it was.
  var failure: (any Error)? { book.failure.withLock { $0 } }

  /// One row for each number of threads and lock of which there is a slice of either kind, in the
  /// order of the options.
  var rows: [Row] {
    let slices = book.slices.withLock { $0 }
    return options.threads.flatMap { threads in
      entrants.indices.compactMap { index in
        guard let known = slices[.init(threads: threads, entrant: index)],
          !known.plain.isEmpty && !known.timed.isEmpty
        else { return nil }
        return Row(
          lock: entrants[index].name, threads: threads, slices: known.plain, timed: known.timed)
      }
    }
  }
}
