import Threading

// A thread with a name and a stack of its own, and the value that it brings back.
let attributes = ThreadAttributes(name: "adder", stackSize: 256 * 1024)
let adder = try PosixThread.start(attributes) { (1...100).reduce(0, +) }
print("the sum is", try adder.join())

// Operations on a queue of such threads; each hands its result to the main thread's loop.
let loop = ThreadRunLoop.current
let done = ExitFlag()
let total = Locked(0)
let queue = try ThreadOperationQueue(name: "squares", width: 2, attributes: attributes)
let squares = (1...3).map { number in
  ClosureOperation { loop.perform { total.withLock { $0 += number * number } } }
}
let last = ClosureOperation { loop.perform { done.set() } }
for square in squares { try last.addDependency(square) }
try queue.add(contentsOf: squares + [last])
print("the loop ended:", loop.run(until: done))
print("the squares add up to", total.withLock { $0 })
