import Glibc

/// A thread made by `pthread_create` and nothing else.
enum PthreadRival {
  /// Starts a thread with the given stack, waits for its end.
  ///
  /// - Throws: when the system refuses it.
  @inline(__always)
  static func startAndJoin(
    stackSize: Int, _ body: @escaping @Sendable () -> Void
  ) throws(WrongResult) {
    pthread_join(try start(stackSize: stackSize, isDetached: false, body), nil)
  }

  /// Starts a detached thread with the given stack.
  ///
  /// - Throws: when the system refuses it.
  @inline(__always)
  static func startDetached(
    stackSize: Int, _ body: @escaping @Sendable () -> Void
  ) throws(WrongResult) {
    _ = try start(stackSize: stackSize, isDetached: true, body)
  }

  @inline(__always)
  private static func start(
    stackSize: Int, isDetached: Bool, _ body: @escaping @Sendable () -> Void
  ) throws(WrongResult) -> pthread_t {
    var attributes = pthread_attr_t()
    _ = unsafe pthread_attr_init(&attributes)
    defer { _ = unsafe pthread_attr_destroy(&attributes) }
    _ = unsafe pthread_attr_setstacksize(&attributes, stackSize)
    if isDetached {
      _ = unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    }
    let box = unsafe Unmanaged.passRetained(BodyBox(body))
    var thread = pthread_t()
    let code = unsafe pthread_create(&thread, &attributes, pthreadRivalEntry, box.toOpaque())
    guard code == 0 else {
      unsafe box.release()
      throw WrongResult("pthread_create: errno \(code)")
    }
    return thread
  }
}

private final class BodyBox {
  let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

// A named function: a closure literal given to pthread_create may be taken for main-actor code.
private func pthreadRivalEntry(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let argument = unsafe argument {
    unsafe Unmanaged<BodyBox>.fromOpaque(argument).takeRetainedValue().body()
  }
  return nil
}
