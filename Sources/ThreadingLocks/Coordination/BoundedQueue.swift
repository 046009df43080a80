public import ThreadingPlatform

/// A queue of limited length between threads: those that put wait while it is full, those that take
/// wait while it is empty.
///
/// The limit is what makes it a connection between producers and consumers: a producer that is too
/// fast sleeps instead of filling the memory.
///
/// ```swift
/// let jobs = BoundedQueue<Job>(capacity: 64)
/// // Consumers:                       // Producers:
/// for job in jobs { run(job) }        try jobs.put(job)
///                                     // When there are no more:
///                                     jobs.close()
/// ```
///
/// Once it has been closed, nothing more is put in. What is in it can still be taken; after that,
/// those that take are told that it is closed, as ``QueueClosed``. A `for` loop over the queue takes
/// until then.
///
/// Elements come out in the order in which they went in. Threads that wait are woken oldest first,
/// each for one element or one place; one that comes at that moment may still be quicker.
///
/// Elements need not be `Sendable`: each is given away by the thread that puts it, and belongs to
/// the one that takes it.
///
/// - Note: Safe to use from any thread. What was written before an element was put happens before
///   the return of the call that takes it.
@safe
public final class BoundedQueue<Element>: @unchecked Sendable {
  // A ring of places, of which `stored` hold elements, the oldest at `first`. Whoever makes an element
  // or a place available tells one thread that waits for such; the end of all is told to all.
  //
  // SAFETY of @safe and @unchecked: the places live from init to deinit. They and all that can change
  // are touched with `mutex` held, or with exclusive access (deinit). An element is initialised by one
  // call and moved out by one other, and the mutex orders the two.
  private let mutex = FastMutex()
  private let isNotEmpty: ConditionVariable
  private let isNotFull: ConditionVariable
  private let places: UnsafeMutablePointer<Element>
  private var first = 0
  private var stored = 0
  private var hasBeenClosed = false

  /// How many elements the queue can hold.
  public let capacity: Int

  /// The largest capacity.
  public static var maximumCapacity: Int { Int(Int32.max) }

  /// An empty queue.
  ///
  /// Its memory is allocated here: putting and taking allocate nothing.
  ///
  /// - Parameters:
  ///   - capacity: How many elements it can hold, from 1 to ``maximumCapacity``. Any other number
  ///     stops the program.
  ///   - label: What messages about misuse call the queue.
  public init(capacity: Int, label: String? = nil) {
    guard (1...Self.maximumCapacity).contains(capacity) else {
      fatalError(
        "\(Misuse.name("BoundedQueue", label)): made for \(capacity) elements; 1 to "
          + "\(Self.maximumCapacity) are allowed")
    }
    self.capacity = capacity
    let name = Misuse.name("BoundedQueue", label)
    isNotEmpty = ConditionVariable(label: "\(name), an element")
    isNotFull = ConditionVariable(label: "\(name), a place")
    unsafe places = .allocate(capacity: capacity)
  }

  deinit {
    for _ in 0..<stored { _ = removeFirst() }
    unsafe places.deallocate()
  }

  /// How many elements are in the queue at this moment: a figure for display, old when it is read.
  public var count: Int { mutex.withLock { stored } }

  /// Whether the queue has been closed. Once true, always true.
  public var isClosed: Bool { mutex.withLock { hasBeenClosed } }

  /// Closes the queue: lets nothing more in, and wakes all that wait.
  ///
  /// Threads that wait to put are told that it is closed; those that take, once it is empty.
  ///
  /// - Returns: Whether this call has closed it.
  @discardableResult
  public func close() -> Bool {
    let isFirst = mutex.withLock {
      defer { hasBeenClosed = true }
      return !hasBeenClosed
    }
    if isFirst {
      isNotFull.broadcast()
      isNotEmpty.broadcast()
    }
    return isFirst
  }

  // MARK: Putting

  /// Puts an element at the end, sleeping while the queue is full.
  ///
  /// Costs a lock and a load when it is not, and a wake when a thread waits for an element.
  ///
  /// - Throws: ``QueueClosed`` if the queue is closed, before or meanwhile; the element is let go of.
  @available(*, noasync, message: "put blocks the calling thread")
  public func put(_ element: consuming sending Element) throws(QueueClosed) {
    _ = try put(element, until: .distantFuture)
  }

  /// Puts an element at the end, sleeping while the queue is full, until a moment has come.
  ///
  /// - Parameters:
  ///   - element: What to put; it is let go of if there is no place for it.
  ///   - deadline: When to give up. It is tried at least once, even when the moment has passed.
  /// - Returns: Whether the element is in the queue.
  /// - Throws: ``QueueClosed`` if the queue is closed, before or meanwhile.
  @available(*, noasync, message: "put blocks the calling thread")
  public func put(
    _ element: consuming sending Element, until deadline: MonotonicInstant
  ) throws(QueueClosed) -> Bool {
    mutex.lock()
    isNotFull.wait(mutex, until: deadline) { stored < capacity || hasBeenClosed }
    return try append(element)
  }

  /// Puts an element at the end, sleeping while the queue is full, for as long as `duration`.
  ///
  /// - Parameters:
  ///   - element: What to put; it is let go of if there is no place for it.
  ///   - duration: The longest time to wait, on the monotonic clock. Zero or less tries once.
  /// - Returns: Whether the element is in the queue.
  /// - Throws: ``QueueClosed`` if the queue is closed, before or meanwhile.
  @available(*, noasync, message: "put blocks the calling thread")
  public func put(
    _ element: consuming sending Element, for duration: Duration
  ) throws(QueueClosed) -> Bool {
    try put(element, until: .now.advanced(by: duration))
  }

  /// Puts an element at the end if there is a place at this moment.
  ///
  /// - Parameter element: What to put; it is let go of if there is no place for it.
  /// - Returns: Whether the element is in the queue.
  /// - Throws: ``QueueClosed`` if the queue is closed.
  public func tryPut(_ element: consuming sending Element) throws(QueueClosed) -> Bool {
    mutex.lock()
    return try append(element)
  }

  /// Gives the mutex back, which is held.
  private func append(_ element: consuming sending Element) throws(QueueClosed) -> Bool {
    guard !hasBeenClosed && stored < capacity else {
      let isClosed = hasBeenClosed
      mutex.unlock()
      if isClosed { throw QueueClosed() }
      return false
    }
    let index = first + stored
    unsafe (places + (index < capacity ? index : index - capacity)).initialize(to: element)
    stored += 1
    mutex.unlock()
    // After the mutex has been given back, so that the thread finds it free.
    isNotEmpty.signal()
    return true
  }

  // MARK: Taking

  /// Takes the oldest element, sleeping while the queue is empty.
  ///
  /// Costs a lock and a load when it is not, and a wake when a thread waits for a place.
  ///
  /// - Returns: The element.
  /// - Throws: ``QueueClosed`` if the queue is empty and closed, before or meanwhile.
  @available(*, noasync, message: "take blocks the calling thread")
  public func take() throws(QueueClosed) -> sending Element {
    guard let element = try take(until: .distantFuture) else {
      fatalError("BoundedQueue.take: a wait without a limit came to an end")
    }
    return element
  }

  /// Takes the oldest element, sleeping while the queue is empty, until a moment has come.
  ///
  /// - Parameter deadline: When to give up. It is tried at least once, even when the moment has passed.
  /// - Returns: The element, or nil if none came in time.
  /// - Throws: ``QueueClosed`` if the queue is empty and closed, before or meanwhile.
  @available(*, noasync, message: "take blocks the calling thread")
  public func take(until deadline: MonotonicInstant) throws(QueueClosed) -> sending Element? {
    mutex.lock()
    isNotEmpty.wait(mutex, until: deadline) { stored > 0 || hasBeenClosed }
    return try takeFirst()
  }

  /// Takes the oldest element, sleeping while the queue is empty, for as long as `duration`.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less tries once.
  /// - Returns: The element, or nil if none came in time.
  /// - Throws: ``QueueClosed`` if the queue is empty and closed, before or meanwhile.
  @available(*, noasync, message: "take blocks the calling thread")
  public func take(for duration: Duration) throws(QueueClosed) -> sending Element? {
    try take(until: .now.advanced(by: duration))
  }

  /// Takes the oldest element if there is one at this moment.
  ///
  /// - Returns: The element, or nil if the queue is empty.
  /// - Throws: ``QueueClosed`` if the queue is empty and closed.
  public func tryTake() throws(QueueClosed) -> sending Element? {
    mutex.lock()
    return try takeFirst()
  }

  /// Gives the mutex back, which is held.
  private func takeFirst() throws(QueueClosed) -> sending Element? {
    guard stored > 0 else {
      let isClosed = hasBeenClosed
      mutex.unlock()
      if isClosed { throw QueueClosed() }
      return nil
    }
    let element = removeFirst()
    mutex.unlock()
    isNotFull.signal()
    return element
  }

  /// There is an element, and the mutex is held or access exclusive.
  private func removeFirst() -> sending Element {
    // SAFETY: the place is left empty, so nobody else can come to the element.
    nonisolated(unsafe) let element = unsafe (places + first).move()
    first = first + 1 < capacity ? first + 1 : 0
    stored -= 1
    return unsafe element
  }
}

/// A `for` loop takes elements until the queue is closed and empty. Several threads may have a loop
/// each; every element goes to one of them.
extension BoundedQueue: Sequence {
  /// Takes from the queue, sleeping while it is empty.
  public struct Iterator: IteratorProtocol {
    let queue: BoundedQueue

    /// Takes the oldest element, sleeping while the queue is empty.
    ///
    /// - Returns: The element, or nil once the queue is closed and empty.
    @available(*, noasync, message: "next blocks the calling thread")
    public func next() -> Element? { try? queue.take() }
  }

  /// Begins a loop.
  ///
  /// - Returns: What takes from this queue.
  public func makeIterator() -> Iterator { Iterator(queue: self) }
}
