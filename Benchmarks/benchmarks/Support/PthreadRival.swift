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
    var attributes = pthread_attr_t()
    _ = unsafe pthread_attr_init(&attributes)
    defer { _ = unsafe pthread_attr_destroy(&attributes) }
    _ = unsafe pthread_attr_setstacksize(&attributes, stackSize)
    let box = unsafe Unmanaged.passRetained(BodyBox(body))
    var thread = pthread_t()
    let code = unsafe pthread_create(&thread, &attributes, pthreadRivalEntry, box.toOpaque())
    guard code == 0 else {
      unsafe box.release()
      throw WrongResult("pthread_create: errno \(code)")
    }
    pthread_join(thread, nil)
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
