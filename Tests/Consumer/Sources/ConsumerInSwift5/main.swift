import Threading

// The classic style, subclass and override, from another package in Swift 5 mode.
final class Counter: PosixThread<Int, Never>, @unchecked Sendable {
  override func main() -> Int { (1...10).reduce(0, +) }
}

final class Announcement: ThreadOperation, @unchecked Sendable {
  let text: String

  init(text: String) {
    self.text = text
    super.init()
  }

  override func main() { print(text) }
}

let counter = Counter(ThreadAttributes(name: "counter"))
try counter.start()
let queue = ThreadOperationQueue(width: 1)
try queue.add(Announcement(text: "counted to \(try counter.join())"))
queue.waitForAll()
