/// The text of `--help`.
enum Usage {
  static let text = """
    Measures the toolkit beside Foundation, Dispatch, Synchronization and bare POSIX.

    USAGE: benchmarks [--list] [--filter REGEX] [--samples N] [--format table|tsv|json]

    OPTIONS:
      --list           Name the workloads, their implementations and what one item is; run nothing.
      --filter REGEX   Take only the workloads whose name (area/what) contains a match.
      --samples N      Samples of each implementation, \(Options.allowedSamples.lowerBound) to \
    \(Options.allowedSamples.upperBound); \(Options().samples) if not given.
      --format FORMAT  table (for people; the default), tsv (one header line, then one line a row)
                       or json (with the machine's description).
      --help           Print this text.

    COLUMNS:
      workload, implementation   what is measured, and of whom
      threads                    threads at work in it
      items                      items in one sample
      median_ns, min_ns, p99_ns  nanoseconds an item, over the samples
      ratio_to_ours              time relative to `ours` in the same round, median over the rounds:
                                 2 means that it takes twice as long as ours

    EXIT STATUS:
      0   all went well
      1   a workload gave a wrong result; standard error names it and the implementation
      64  the command line cannot be followed

    """
}
