import Glibc

/// Runs `body` in a child process made by `fork`.
///
/// - Parameter body: what the child does; whether it holds is the child's exit status.
/// - Returns: The child's exit status, 0 if `body` held; or the negative signal that ended it. A child
///   that hangs is ended by a signal after 30 seconds.
public func inForkedChild(_ body: () -> Bool) -> CInt {
  let child = forkProcess()
  if child == 0 { _exit(body() ? 0 : 1) }
  return statusOfChild(child)
}

/// Makes a child process that goes on from here, for 30 seconds at most.
///
/// - Returns: 0 in the child, the child's id in the parent.
public func forkProcess() -> CInt {
  typealias Fork = @convention(c) () -> CInt
  // The Glibc module does not show fork.
  guard let address = unsafe dlsym(nil, "fork") else { fatalError("no fork") }
  let child = unsafe unsafeBitCast(address, to: Fork.self)()
  if child == 0 {
    unblock(SIGALRM)
    alarm(30)
  }
  return child
}

/// Waits for the end of a child process.
///
/// - Returns: Its exit status, or the negative signal that ended it.
public func statusOfChild(_ child: CInt) -> CInt {
  var status: CInt = 0
  while unsafe waitpid(child, &status, 0) < 0 && errno == EINTR {}
  return status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
}

/// Ends the calling process, for a test that has a process of its own, unless a child of it ended well.
///
/// - Parameter status: what ``statusOfChild(_:)`` told. It becomes the exit status, which the report of
///   the test shows; a signal is told as 128 and its number.
public func requireSuccess(ofChild status: CInt) {
  if status != 0 { _exit(status > 0 ? status : 128 - status) }
}
