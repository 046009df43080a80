extension ChildProcess {
  /// Whether a signal has ended the process. A sanitizer catches the signal, reports it, and returns.
  func hasCrashed(by signal: Int32) -> Bool {
    if Sanitizer.isThread || Sanitizer.isAddress { return status != 0 }
    return self.signal == signal
  }
}
