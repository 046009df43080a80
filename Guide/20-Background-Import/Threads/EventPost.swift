import Threading

/// Carries events from the importing thread to the main thread's run loop, in order.
///
/// It holds the importing thread back when the main thread falls behind. Without that, what is on its
/// way would grow with the length of the feed, and so would the memory of the process.
final class EventPost: Sendable {
  /// How many events may be on their way.
  static let places = 8

  private let loop: ThreadRunLoop
  private let freePlaces = CountingSemaphore(EventPost.places)
  private let deliver: @Sendable (ImportEvent) -> Void

  /// A post to `loop`, whose thread will call `deliver` with each event.
  init(to loop: ThreadRunLoop, deliver: @escaping @Sendable (ImportEvent) -> Void) {
    self.loop = loop
    self.deliver = deliver
  }

  /// Sends an event. Waits while all places are taken.
  func send(_ event: ImportEvent) {
    freePlaces.acquire()
    let isPosted = loop.perform { [deliver, freePlaces] in
      deliver(event)
      freePlaces.release()
    }
    // The loop's thread has ended: nobody is left to be told, and nobody to wait for.
    if !isPosted { freePlaces.release() }
  }
}
