// Imports the toolkit, uses one thing of it, and ends: how long that takes is measured from outside.
import Threading

let value = Locked(1)
value.withLock { $0 += 1 }
