internal import CThreadingPlatform
internal import Glibc

/// One object per thread, whoever started the thread: the place from which everything else that is
/// per thread hangs.
///
/// Reading it is a thread-local load. The object is released by a destructor of the thread, before
/// a join of the thread returns. One `pthread` key serves the whole package.
package enum ThreadRecordSlot {
  /// The calling thread's object, or nil when none was stored.
  @inline(__always)
  package static var current: AnyObject? {
    guard let record = unsafe ctp_get_thread_record() else { return nil }
    return unsafe Unmanaged<AnyObject>.fromOpaque(record).takeUnretainedValue()
  }

  /// Stores the calling thread's object and retains it until the thread ends.
  ///
  /// ``ThreadRecordObject/threadWillEnd()`` is called on the ending thread while the object can
  /// still be read; an object that is installed after it has been let go is treated the same way.
  ///
  /// - Precondition: the slot is empty.
  package static func install<Record: ThreadRecordObject>(_ record: Record) {
    unsafe require(
      ctp_get_thread_record() == nil, "ThreadRecordSlot.install: the thread has a record already")
    let retained = unsafe Unmanaged<AnyObject>.passRetained(record).toOpaque()
    let code = unsafe pthread_setspecific(destructorKey, retained)
    require(code == 0, "ThreadRecordSlot.install: pthread_setspecific failed, errno \(code)")
    unsafe ctp_set_thread_record(retained)
    unsafe ctp_set_record_ending(Record.ending)
  }

  /// Has the system call the destructor once more for a record that it has just handed to it.
  fileprivate static func keepForNextRound(_ record: UnsafeMutableRawPointer) {
    let code = unsafe pthread_setspecific(destructorKey, record)
    require(code == 0, "ThreadRecordSlot: pthread_setspecific failed, errno \(code)")
  }

  /// See ``SystemProcess/makeValues()``.
  static func makeValues() { _ = destructorKey }

  private static let destructorKey: pthread_key_t = {
    var key = pthread_key_t()
    let code = unsafe pthread_key_create(&key, threadRecordDestructor)
    require(code == 0, "ThreadRecordSlot: pthread_key_create failed, errno \(code)")
    return key
  }()
}

/// An object that ``ThreadRecordSlot`` can hold.
package protocol ThreadRecordObject: AnyObject {
  /// Calls ``threadWillEnd()`` of the object at an address, which is one of the type's: a thread's end
  /// then needs no look-up of the type, which costs more than all the rest.
  static var ending: @convention(c) (UnsafeMutableRawPointer) -> Bool { get }

  /// Called on the ending thread, with the object still in the slot.
  ///
  /// - Returns: whether to stay in the slot and be called again in the system's next round of
  ///   destructors, after those of others in this round. The system promises four rounds
  ///   (`PTHREAD_DESTRUCTOR_ITERATIONS`), and in the fourth the thread sanitizer has left the thread
  ///   already; so an object that was installed before the thread's end may stay up to two times.
  func threadWillEnd() -> Bool
}

private func threadRecordDestructor(_ value: UnsafeMutableRawPointer?) {
  guard let value = unsafe value else { return }
  let owner = unsafe Unmanaged<AnyObject>.fromOpaque(value)
  if let ending = unsafe ctp_get_record_ending(), unsafe ending(value) {
    unsafe ThreadRecordSlot.keepForNextRound(value)
    return
  }
  // Emptied before the release: what the object's deinit runs may install a new record, which the
  // system's next round of destructors brings here again.
  ctp_set_thread_record(nil)
  unsafe owner.release()
}
