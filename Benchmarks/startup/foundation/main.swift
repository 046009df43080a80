// Imports Foundation, uses one thing of it, and ends: how long that takes is measured from outside.
import Foundation

let lock = NSLock()
lock.lock()
lock.unlock()
