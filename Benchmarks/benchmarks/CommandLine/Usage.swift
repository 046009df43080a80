/// The text of `--help`.
enum Usage {
  static let text = """
    Measures the toolkit beside Foundation, Dispatch, Synchronization and bare POSIX.

    USAGE: benchmarks [OPTIONS]

    WHAT TO MEASURE:
      --list            Name the workloads, their implementations and what one item is; run nothing.
      --filter REGEX    Take only the workloads whose name (area/what) contains a match.
      --threads LIST    For workloads that exist for any number of threads, these numbers
                        (\(Options.allowedThreads.lowerBound) to \
    \(Options.allowedThreads.upperBound), with commas) in place of the usual ones.
      --scale           Measure 10^3 to 10^6 items, of workloads that can grow, and fit the exponent.
      --native FOLDER   Where plug-ins with C and C++ rivals are, if not where
                        Benchmarks/native/build.sh puts them: Benchmarks/native/build.

    HOW:
      --samples N       Samples of each implementation, \(Options.allowedSamples.lowerBound) to \
    \(Options.allowedSamples.upperBound); \(Options.usualSamples) if not given, \
    \(Options.quickSamples) when quick.
      --quick           Batches of 2 ms in place of 10: to see a factor, not a tenth.

    WHAT TO DO WITH IT:
      --format FORMAT   table (for people; the default), tsv (one header line, then one line a row)
                        or json (with the machine's description and every sample).
      --report FILE     Write a page of HTML with pictures as well.
      --save FILE       Write the figures for a later --compare as well.
      --compare FILE    Compare with the run that --save wrote; fail when ours got slower.
      --threshold X     By what factor it may, \(Options.allowedThresholds.lowerBound) to \
    \(Int(Options.allowedThresholds.upperBound)); \(Options().threshold) if not given.
      --gate FILE       Measure what the file names, quickly, and fail when ours is slower than it
                        allows. A line has a workload, a rival and how many times as long as the
                        rival ours may take; # begins a comment.
      --help            Print this text.

    Ctrl-C prints what has been done so far.

    COLUMNS:
      workload, implementation   what is measured, and of whom
      threads, items             threads at work in it; items in one sample (not in the table)
      median, min, p99           nanoseconds an item (bytes, for memory), over the samples
      spread                     distance of the quartiles, relative to the median
      cpu_ns (cpu)               processor time of the process an item, setting up and checking with it
      switches                   times that a thread gave up or lost its processor, an item
      ratio_to_ours (ratio)      relative to `ours` in the same round, median over the rounds:
                                 2 means twice as much as ours; ~ after it: too noisy to conclude
      ratio_q1, ratio_q3         the quartiles of those ratios

    EXIT STATUS:
      0    all went well
      1    a workload gave a wrong result; standard error names it and the implementation
      2    slower than --gate or --compare allow
      64   the command line, or a file that it names, cannot be followed, or has nothing to compare
      74   a file or standard output could not be written, or the system refused what was needed
      130  stopped by Ctrl-C (143: by SIGTERM, 129: by SIGHUP)

    """
}
