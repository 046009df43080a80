internal import Glibc

/// The queue through which Dispatch and the main actor have work done on the main thread, as a run
/// loop of the main thread serves it.
///
/// The functions are those that Dispatch exports for the run loop of Core Foundation. They are
/// looked up by name, so a program without Dispatch is none the worse.
package enum MainDispatchQueue {
  /// An eventfd that is readable while work is waiting. Owned by Dispatch.
  ///
  /// nil in a process without Dispatch. Asking makes Dispatch announce work on the descriptor from
  /// then on, so only ask to serve it.
  package static var descriptor: CInt? { functions.map { $0.descriptor() } }

  /// Runs the work that is waiting. Only for the main thread.
  ///
  /// The announcement is taken back first: in the other order, one that is made between the two
  /// would be lost.
  package static func drain() {
    guard let functions else { return }
    var count: UInt64 = 0
    // EAGAIN: not announced; drained all the same.
    _ = unsafe read(functions.descriptor(), &count, MemoryLayout<UInt64>.size)
    functions.drain(nil)
  }

  @safe
  private struct Functions: Sendable {
    // SAFETY of @safe: functions of a library that is never unloaded, with these signatures.
    let descriptor: @convention(c) () -> CInt
    let drain: @convention(c) (UnsafeMutableRawPointer?) -> Void
  }

  private static let functions: Functions? = {
    guard let descriptor = unsafe dlsym(nil, "_dispatch_get_main_queue_handle_4CF"),
      let drain = unsafe dlsym(nil, "_dispatch_main_queue_callback_4CF")
    else { return nil }
    return unsafe Functions(
      descriptor: unsafeBitCast(descriptor, to: (@convention(c) () -> CInt).self),
      drain: unsafeBitCast(drain, to: (@convention(c) (UnsafeMutableRawPointer?) -> Void).self))
  }()
}
