/// The text of `--help`.
enum Usage {
  static var text: String {
    let entrants = Entrant.all.map { entrant in
      "  \(entrant.name)\(String(repeating: " ", count: 18 - entrant.name.count))\(entrant.about)"
    }
    return """
      Has threads take one lock in turn, and tells the speed, the cost and the fairness of locks.

      USAGE: lock-contention [--threads N,N] [--inside NS] [--outside NS] [--seconds S]
                             [--slice MS] [--locks NAME,NAME] [--placement free|one]
                             [--native DIR] [--format table|tsv|json]

      OPTIONS:
        --threads N,N     Numbers of threads, \(Options.allowedThreads.lowerBound) to \
      \(Options.allowedThreads.upperBound) each; 2,4,8 if not given.
        --inside NS       Work with the lock held, in nanoseconds; 20 if not given.
        --outside NS      Work without it, in nanoseconds; 50 if not given.
        --seconds S       Seconds for each lock at each number of threads; 2 if not given.
        --slice MS        Milliseconds of a slice; 50 if not given. Locks take turns by slices.
        --locks NAME,NAME Which locks; all if not given.
        --placement P     free: threads run where the scheduler puts them (if not given);
                          one: all on one processor.
        --native DIR      Where the plug-ins with locks in C and C++ are; Benchmarks/native/build
                          if not given, and none are needed there.
        --format F        table (for people; the default), tsv or json.
        --help            Print this text.

      LOCKS:
      \(entrants.joined(separator: "\n"))

      Plug-ins add others, named by what they are: std-mutex, absl-mutex. See
      Benchmarks/native/build.sh.

      COLUMNS:
        ns, min_ns    wall time of a turn (lock, work inside, unlock, work outside), with all
                      threads together: median and minimum of the slices
        cpu_ns        processor time of a turn, over all threads: median of the slices
        max/min       turns of the thread that got most, for one of the thread that got fewest:
                      median of the slices
        handed_%      turns of another thread than the turn before: median of the slices
        sleeps_%      how often a thread slept or let others run, in a hundred turns: median of the
                      slices
        longest_ms    longest time that any thread went without a turn in a slice: median of the
                      slices
        worst_ms      the same, the longest of all slices
        starved_ms    longest_ms without the time in which the thread was ready to run and had no
                      processor: what is left is the lock's doing, or that of the machine below the
                      system
        worst_starved_ms  the same, the longest of all slices

      Each second slice has every turn timed, for the last four columns, and does not count for
      the others. What `none` shows there is not a lock's doing: threads that want no lock.

      EXIT STATUS:
        0   all went well
        1   a lock let two threads in at a time
        64  the command line cannot be followed
        74  the system refused a thread, or standard output cannot be written
        129, 130, 143  a signal ended the run (SIGHUP, SIGINT, SIGTERM); what was measured by
            then has been printed. A second signal does not wait for the slice that is under way

      """
  }
}
