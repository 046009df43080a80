import Glibc
import Testing
import ThreadingLocks
import ThreadingPlatform

// The calls that are marked unavailable in async code, for tests whose bodies are async: exit
// tests, and tests that run on the pool. Nothing here suspends.

func lock(_ mutex: borrowing FastMutex) { mutex.lock() }
func unlock(_ mutex: borrowing FastMutex) { mutex.unlock() }
func lock(_ mutex: borrowing FastMutex, until deadline: MonotonicInstant) -> Bool {
  mutex.lock(until: deadline)
}

/// Writes what went wrong in a child process to its standard error, where the test looks for it.
func report(_ fault: String) {
  let line = Array((fault + "\n").utf8)
  _ = unsafe line.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// What a stopped program wrote to its standard error.
func message(of result: ExitTest.Result?) -> String {
  String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}

func wait(_ condition: borrowing ConditionVariable, _ mutex: borrowing FastMutex) {
  condition.wait(mutex)
}

func wait(
  _ condition: borrowing ConditionVariable, _ mutex: borrowing FastMutex, for holds: () -> Bool
) {
  condition.wait(mutex, condition: holds)
}
