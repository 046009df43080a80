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

// A subclass with an error of its own, and one of the subclass.
struct Refusal: Error {}

class Worker: PosixThread<Int, Refusal>, @unchecked Sendable {
  override func main() throws(Refusal) -> Int { throw Refusal() }
}

final class PatientWorker: Worker, @unchecked Sendable {
  override func main() throws(Refusal) -> Int {
    do { return try super.main() } catch { return 1 }
  }
}

let worker = PatientWorker()
try worker.start()
guard try worker.join() == 1 else { fatalError("a subclass of a subclass calls super.main()") }

let counter = Counter(ThreadAttributes(name: "counter"))
try counter.start()
let queue = ThreadOperationQueue(width: 1)
try queue.add(Announcement(text: "counted to \(try counter.join())"))
queue.waitForAll()
