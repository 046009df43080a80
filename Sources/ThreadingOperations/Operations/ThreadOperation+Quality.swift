internal import ThreadingLocks
public import ThreadingThreads

extension ThreadOperation {
  /// The quality of service with which its work is done; nil, as at first, for that of its queue.
  ///
  /// An operation that has one of its own runs on the threads of ``ThreadPool/shared(_:)`` of that quality,
  /// whatever pool its queue has, and counts against its queue's width as any other. On a run loop, and started by
  /// hand, it runs as the thread does. To be set before it starts; later it changes nothing.
  public final var quality: ThreadQuality? {
    get { lock.withLock { extras?.quality } }
    set {
      lock.withLock {
        makeExtras().quality = newValue
        change { word in
          if newValue == nil {
            word.bits &= ~OperationWord.hasQuality
          } else {
            word.bits |= OperationWord.hasQuality
          }
        }
      }
    }
  }

  /// The quality with which its work is, or would be, done: its own, or that of its queue, or
  /// ``ThreadQuality/default``. What the system has made of it tells ``ThreadHandle/scheduling()`` inside.
  public final var effectiveQuality: ThreadQuality {
    let isInQueue = load().phase.rawValue >= OperationWord.Phase.waiting.rawValue
    return quality ?? (isInQueue ? core?.quality : nil) ?? .default
  }
}
