extension ThreadRunLoop {
  /// Why a run ended.
  public enum ExitReason: Hashable, Sendable {
    /// Nothing was left to wait for in the run's mode: no timer, no source, no posted block.
    case finished
    /// ``ThreadRunLoop/stop()`` was called.
    case stopped
    /// The deadline came.
    case timedOut
    /// An input was handled (a posted block or a source; a timer is none), which ends a run that
    /// was asked to return then.
    case handledSource
    /// The run's ``ExitFlag`` is set.
    case flagSet
    /// The loop's thread is cancelled, see ``ThreadHandle/cancel(reason:)``. Every further run makes one
    /// pass and ends for this reason.
    case cancelled
  }
}
