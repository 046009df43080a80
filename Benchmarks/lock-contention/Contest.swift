/// All locks at all numbers of threads, slice by slice in turn.
struct Contest {
  private let options: Options
  private let entrants: [Entrant]

  init(_ options: Options) {
    self.options = options
    entrants = options.locks.compactMap { name in Entrant.all.first { $0.name == name } }
  }

  /// - Returns: One row for each number of threads and lock, in the order of the options.
  /// - Throws: when a lock does not hold, or the system refuses a thread.
  func hold() throws -> [Row] {
    let speed = Work.stepsPerNanosecond()
    var rows: [Row] = []
    for threads in options.threads {
      var slices = [[Slice]](repeating: [], count: entrants.count)
      var timed = slices
      for round in 0..<options.slices {
        let setting = Setting(
          threads: threads, stepsInside: Int((Double(options.inside) * speed).rounded()),
          stepsOutside: Int((Double(options.outside) * speed).rounded()),
          nanoseconds: Int64(options.slice) * 1_000_000, placement: options.placement,
          timesTurns: !round.isMultiple(of: 2))
        for place in entrants.indices {
          // Starting one further each round, so that no lock always follows the same other.
          let index = (place + round / 2) % entrants.count
          let slice = try entrants[index].slice(setting)
          if setting.timesTurns { timed[index].append(slice) } else { slices[index].append(slice) }
        }
      }
      for index in entrants.indices {
        rows.append(
          Row(
            lock: entrants[index].name, threads: threads, slices: slices[index],
            timed: timed[index]))
      }
    }
    return rows
  }
}
