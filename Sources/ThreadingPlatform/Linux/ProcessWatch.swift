internal import CThreadingPlatform
internal import Glibc

/// The end of a process, as a descriptor that a ``Poller`` can watch: the only code of the package
/// that calls `pidfd_open(2)` and `waitid(2)`.
package final class ProcessWatch: Sendable {
  /// Becomes readable when the process has ended.
  package let descriptor: CInt

  /// How a process ended.
  package enum Ending: Sendable {
    case exited(code: CInt)
    case killed(signal: CInt, dumpedCore: Bool)
    /// It is no child of this process, or somebody else has asked before.
    case unknown
  }

  /// Watches a process, which takes a descriptor.
  ///
  /// - Throws: ESRCH when there is no such process, EINVAL for a number that is none, EMFILE or
  ///   ENFILE when descriptors have run out.
  package init(processID: CInt) throws(ThreadingError) {
    descriptor = ctp_pidfd_open(processID)
    guard descriptor >= 0 else {
      switch -descriptor {
      case ESRCH, EINVAL:
        throw ThreadingError(
          call: "pidfd_open", code: -descriptor, message: "there is no process \(processID)")
      default: throw .descriptorRefused("pidfd_open", -descriptor)
      }
    }
  }

  deinit { close(descriptor) }

  /// Asks how the process ended.
  ///
  /// - Parameter reaps: Whether the system may forget the ended child.
  /// - Returns: nil while it runs.
  package func ending(reaps: Bool) -> Ending? {
    var code: CInt = 0
    var status: CInt = 0
    guard unsafe ctp_wait_pidfd(descriptor, reaps, &code, &status) == 0 else { return .unknown }
    switch code {
    case 0: return nil
    case CInt(CLD_EXITED): return .exited(code: status)
    default: return .killed(signal: status, dumpedCore: code == CInt(CLD_DUMPED))
    }
  }
}
