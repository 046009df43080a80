import Glibc

/// What the program sets right about the process before it does anything else.
enum ProcessSetup {
  /// Opens what of standard input, output and error is closed.
  ///
  /// Otherwise the next file that is opened would get the number of, say, standard output, and what
  /// is printed would go into it: into a generated feed, or the run loop's own descriptors. They are opened
  /// the wrong way round, so that who uses them is still told that they are closed.
  static func openStandardStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      // It gets the lowest number that is free, which is this one.
      _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Has a write to a reader that has gone fail, instead of ending the process: what it has begun to make
  /// is then made, or removed.
  static func reportReadersGone() {
    _ = signal(SIGPIPE, SIG_IGN)
  }

  /// Has a write beyond the size that the process may give a file fail, instead of ending the process:
  /// the import then rolls back and says why.
  static func reportFilesTooLarge() {
    _ = signal(SIGXFSZ, SIG_IGN)
  }

  /// Has what the chapters' own web server has to say come directly, wherever else a proxy is asked.
  static func askOwnServerDirectly() {
    let others = unsafe (getenv("no_proxy") ?? getenv("NO_PROXY")).map {
      unsafe String(cString: $0) + ","
    }
    unsafe setenv("no_proxy", (others ?? "") + "127.0.0.1", 1)
  }

  /// Has the process take the signals that end it, whatever the one who started it had blocked: a
  /// process is born with the blocked signals of the thread that starts it.
  static func unblockEndingSignals() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP] { unsafe sigaddset(&signals, signal) }
    unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }
}
