import CThreadLocalBlock
import Glibc
import TestSupport
import Threading

// What tests of threads need a whole process for: one with much thread-local data, and one whose main
// thread returns while other threads run. The first argument says which.

/// Starts a thread that writes a line when main has had every chance to end the process.
func startKeeper(_ family: String) throws {
  var attributes = ThreadAttributes(name: family)
  attributes.keepsProcessOpen = family != "free"
  attributes.isDetached = family == "detached"
  // Dropped at once: nobody joins it.
  _ = try PosixThread.start(attributes) {
    ThreadHandle.current.atEnd {
      ThreadHandle.sleepUninterrupted(.milliseconds(100))
      print("written by \(family)")
      fflush(nil)
    }
  }
}

extension ThreadHandle {
  static func sleepUninterrupted(_ time: Duration) {
    let end = MonotonicInstant.now.advanced(by: time)
    while MonotonicInstant.now < end { usleep(1_000) }
  }
}

/// Tells of its release.
final class Told: Sendable {
  let text: String
  init(_ text: String) { self.text = text }
  deinit {
    print("released: \(text)")
    fflush(nil)
  }
}

let told = ThreadLocal { Told("never used") }

/// What a foreign thread runs. A named function, so that it is not taken for main-actor code.
func cancelMain(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // Another thread without a handle is not meant by it.
  ThreadHandle.main.cancel(reason: "enough")
  do {
    try ThreadHandle.checkCancellation()
  } catch {
    fatalError("the wrong thread")
  }
  return nil
}

/// Has the main thread store values, and comes to the place where it leaves.
func storeValues() throws {
  ThreadDictionary.current["first"] = Told("given up")
  ThreadDictionary.current["first"] = nil
  ThreadDictionary.current["first"] = Told("dictionary")
  told.value = Told("variable")
  ThreadHandle.current.atEnd { print("hook of main") }
  try PosixThread.start { told.value = Told("of a thread") }.join()
  print("main leaves")
  fflush(nil)
}

// Whatever hangs is ended by a signal, which the test that waits here sees.
unblock(SIGALRM)
alarm(60)

let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "stack":
  // The smallest stack that can be asked for, used to the last KiB but three.
  let size = arguments.last.flatMap { Int($0) } ?? ThreadAttributes.minimumStackSize
  var attributes = ThreadAttributes(stackSize: size)
  attributes.isStackMeasured = true
  let thread = try PosixThread.start(attributes) { () -> (Int, StackUsage?) in
    let block = ctb_touch()
    useStack(to: size - 3_072)
    return (block, try? ThreadHandle.current.stackUsage())
  }
  let (block, usage) = try thread.join()
  guard block == 256 * 1024, let usage, usage.size >= size, usage.highWaterMark >= size - 4_096
  else { fatalError("block \(block), usage \(String(describing: usage))") }
  print("used \(usage.highWaterMark) of \(usage.size)")
case "fork":
  // Nothing has asked for a handle yet.
  let child = forkProcess()
  if child != 0 { exit(statusOfChild(child) == 0 ? 0 : 1) }
  let process = UInt32(getpid())
  let isSeen = try PosixThread.start {
    ThreadHandle.main.kernelID == process && !ThreadHandle.main.isLostToFork
      && !ThreadHandle.main.isCurrent
  }.join()
  let isOwn = ThreadHandle.current.isMain && ThreadHandle.current.kernelID == process
  let grandchild = inForkedChild {
    ThreadHandle.current.isMain && ThreadHandle.main.kernelID == UInt32(getpid())
      && !ThreadHandle.main.isLostToFork
  }
  _exit(isSeen && isOwn && grandchild == 0 ? 0 : 1)
case "cancel-main":
  // Main is cancelled by a thread that the package has not started, before main has asked for its handle.
  do {
    try ThreadHandle.checkCancellation()
  } catch {
    fatalError("cancelled by nobody")
  }
  var foreign = pthread_t()
  let code = unsafe pthread_create(&foreign, nil, cancelMain, nil)
  guard code == 0 else { fatalError("pthread_create: \(code)") }
  pthread_join(foreign, nil)
  do {
    try ThreadHandle.checkCancellation()
    fatalError("not cancelled")
  } catch {
    print(error.reason ?? "no reason")
  }
case "return":
  try startKeeper(arguments.last ?? "")
// main returns
case "exit":
  try startKeeper(arguments.last ?? "")
  exit(7)
case "values-return":
  try storeValues()
// main returns
case "values-exit":
  try storeValues()
  exit(0)
case "exit-inside":
  // The thread that exits does not wait for itself, but for the other.
  try startKeeper("kept")
  var attributes = ThreadAttributes()
  attributes.keepsProcessOpen = true
  try PosixThread.start(attributes) { exit(3) }.join()
case "signal":
  try startKeeper("kept")
  kill(getpid(), SIGKILL)
  pause()
case "underscore":
  try startKeeper("kept")
  _exit(9)
default:
  fatalError("no such part: \(arguments)")
}
