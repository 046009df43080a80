/// A queue in an array that grows and is used round and round. All calls are O(1), adding on average.
struct RingBuffer<Element> {
  private var storage: [Element?] = []
  private var head = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ element: consuming Element) {
    if count == storage.count { grow() }
    storage[(head + count) & (storage.count - 1)] = element
    count += 1
  }

  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = storage[head].take()
    head = (head + 1) & (storage.count - 1)
    count -= 1
    return element
  }

  /// Doubles the storage, whose size is a power of two.
  private mutating func grow() {
    var larger: [Element?] = []
    larger.reserveCapacity(max(16, storage.count * 2))
    for offset in 0..<count {
      larger.append(storage[(head + offset) & (storage.count - 1)].take())
    }
    larger.append(
      contentsOf: repeatElement(nil, count: max(16, storage.count * 2) - larger.count))
    storage = larger
    head = 0
  }
}
