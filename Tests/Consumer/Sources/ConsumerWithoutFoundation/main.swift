import Threading

// A program that wants threads and nothing else: Foundation must not be in its process.
let answer = try PosixThread.start(ThreadAttributes(name: "worker", stackSize: 128 * 1024)) {
  (1...10).reduce(1, *)
}.join()
let loop = ThreadRunLoop.current
try loop.add(ThreadTimer(after: .milliseconds(1)) { _ in print("the timer has fired") })
print("10! is \(answer); the loop ended: \(loop.run())")
