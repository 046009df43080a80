import Glibc

/// Sends a signal to the calling thread, which handles it before the call returns, whatever the
/// thread's mask is (threads of a thread pool block most signals).
public func raiseHere(_ signal: CInt) {
  var wanted = sigset_t()
  var before = sigset_t()
  unsafe sigemptyset(&wanted)
  unsafe sigaddset(&wanted, signal)
  unsafe pthread_sigmask(SIG_UNBLOCK, &wanted, &before)
  raise(signal)
  unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
}

/// Has the calling thread take a signal that is sent to it.
public func unblock(_ signal: CInt) {
  var wanted = sigset_t()
  unsafe sigemptyset(&wanted)
  unsafe sigaddset(&wanted, signal)
  unsafe pthread_sigmask(SIG_UNBLOCK, &wanted, nil)
}

/// Has the calling thread leave a signal that is sent to it, or to the process, until it is unblocked.
public func block(_ signal: CInt) {
  var wanted = sigset_t()
  unsafe sigemptyset(&wanted)
  unsafe sigaddset(&wanted, signal)
  unsafe pthread_sigmask(SIG_BLOCK, &wanted, nil)
}
