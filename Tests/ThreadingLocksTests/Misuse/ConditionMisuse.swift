import ThreadingLocks

private final class Shared: Sendable {
  let first = FastMutex()
  let second = FastMutex()
  let condition = ConditionVariable(label: "filled")
}

extension MisuseCase {
  static let conditions: [MisuseCase] = [
    MisuseCase(
      "ConditionVariable: wait without the mutex",
      ["ConditionVariable \"filled\".wait", "held by nobody; called by <stranger>"]
    ) {
      let shared = Shared()
      try on("stranger") { shared.condition.wait(shared.first) }
    },
    MisuseCase(
      "ConditionVariable: wait with a stranger's mutex",
      ["ConditionVariable \"filled\".wait", "held by <owner>; called by <stranger>"]
    ) {
      let shared = Shared()
      try on("owner") {
        shared.first.lock()
        try on("stranger") { shared.condition.wait(shared.first) }
      }
    },
    MisuseCase(
      "ConditionVariable: wait with two mutexes",
      ["ConditionVariable \"filled\".wait: other threads wait with another", "by <stranger>"]
    ) {
      let shared = Shared()
      try asleep("waiter") { shared.first.withLock { _ = shared.condition.wait(shared.first) } }
      try on("stranger") { shared.second.withLock { _ = shared.condition.wait(shared.second) } }
    },
    MisuseCase(
      "ConditionVariable: destruction while waited on",
      ["ConditionVariable \"filled\": destroyed while 1 threads wait for it, at 0x", "<stranger>"]
    ) {
      let shared = Shared()
      let condition = Placed(ConditionVariable(label: "filled"))
      try asleep("waiter") {
        shared.first.withLock { condition.use { _ = $0.wait(shared.first) } }
      }
      try on("stranger") { condition.destroy() }
    },

    MisuseCase(
      "ConditionLock: relock", ["ConditionLock \"stage\": locked again by its owner, <owner>"]
    ) {
      let stage = ConditionLock(0, label: "stage")
      try on("owner") {
        stage.lock()
        stage.lock(when: 1)
      }
    },
    MisuseCase(
      "ConditionLock: unlock by a stranger",
      ["ConditionLock \"stage\": held by <owner>, but unlocked by <stranger>"]
    ) {
      let stage = ConditionLock(0, label: "stage")
      try on("owner") {
        stage.lock()
        try on("stranger") { stage.unlock(settingTo: 1) }
      }
    },
    MisuseCase(
      "ConditionLock: unlock of an unlocked one",
      ["ConditionLock \"stage\": held by nobody, but unlocked by <stranger>"]
    ) {
      let stage = ConditionLock(0, label: "stage")
      try on("stranger") { stage.unlock() }
    },
    MisuseCase(
      "ConditionLock: destruction while held",
      ["ConditionLock \"stage\": destroyed while held by <owner>, by <stranger>"]
    ) {
      let stage = Overreleased(ConditionLock(0, label: "stage"))
      try on("owner") {
        stage.use { $0.lock() }
        try on("stranger") { stage.destroy() }
      }
    },
    MisuseCase(
      "ConditionLock: destruction while waited on",
      ["ConditionLock \"stage\": destroyed while <waiter> waits, by <stranger>"]
    ) {
      let stage = Overreleased(ConditionLock(0, label: "stage"))
      try asleep("waiter") { stage.use { $0.lock(when: 1) } }
      try on("stranger") { stage.destroy() }
    },
  ]
}
