// Imports Dispatch, uses one thing of it, and ends: how long that takes is measured from outside.
import Dispatch

let semaphore = DispatchSemaphore(value: 1)
semaphore.wait()
semaphore.signal()
