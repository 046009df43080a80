/// Messages in a row of memory that grows as needed.
///
/// Not an array: code that is generic over the messages, and not specialized for them, would look up
/// types at run time for each message that it puts into one or takes out.
@safe
struct MessageRow<Message> {
  // SAFETY of @safe: the memory has room for `room` messages, the first `count` of which are there but
  // for those that were taken. Who takes which is the owner's affair; it says so at its use.
  private var memory: UnsafeMutablePointer<Message>?
  private(set) var count = 0
  private var room = 0

  init() {}

  mutating func append(_ message: consuming Message) {
    if count == room { grow() }
    unsafe (memory! + count).initialize(to: message)
    count += 1
  }

  private mutating func grow() {
    let larger = max(16, room * 2)
    let fresh = UnsafeMutablePointer<Message>.allocate(capacity: larger)
    if let memory = unsafe memory {
      unsafe fresh.moveInitialize(from: memory, count: count)
      unsafe memory.deallocate()
    }
    unsafe memory = fresh
    room = larger
  }

  /// Takes one out, which leaves a hole.
  func take(at index: Int) -> Message { unsafe (memory! + index).move() }

  /// Takes out those from an index on; their places stay.
  func takeAll(from first: Int) -> [Message] { (first..<count).map { take(at: $0) } }

  /// All messages have been taken: makes room for others. The memory of many goes back.
  mutating func empty() {
    count = 0
    if room > 4_096 { free() }
  }

  /// Drops the messages from an index on, and the memory.
  mutating func clear(from first: Int) {
    _ = takeAll(from: first)
    count = 0
    free()
  }

  private mutating func free() {
    unsafe memory?.deallocate()
    unsafe memory = nil
    room = 0
  }
}
