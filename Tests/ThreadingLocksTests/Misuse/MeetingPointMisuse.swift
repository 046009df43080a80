import ThreadingLocks

/// An object that a thread waits on when its last reference goes.
private func destroying<Object: AnyObject & Sendable>(
  _ name: String, _ message: [String], _ make: @escaping @Sendable () -> Object,
  _ wait: @escaping @Sendable (Object) -> Void
) -> MisuseCase {
  MisuseCase("\(name): destruction while waited on", message) {
    let object = Overreleased(make())
    try asleep("waiter") { object.use(wait) }
    try on("stranger") { object.destroy() }
  }
}

/// What has no owner, so that it cannot be given back by a stranger.
extension MisuseCase {
  static let meetingPoints: [MisuseCase] = [
    MisuseCase("CountingSemaphore: too many permits", ["CountingSemaphore \"jobs\".release: more"])
    {
      CountingSemaphore(CountingSemaphore.maximumPermits, label: "jobs").release()
    },
    destroying(
      "CountingSemaphore",
      ["CountingSemaphore \"jobs\": destroyed while <waiter> waits, by <stranger>"],
      { CountingSemaphore(0, label: "jobs") }, { $0.acquire() }),
    MisuseCase("CountdownLatch: too many", ["CountdownLatch \"start\".countDown: by 2, with 1"]) {
      CountdownLatch(1, label: "start").countDown(by: 2)
    },
    destroying(
      "CyclicBarrier", ["CyclicBarrier \"step\": destroyed while 1 threads wait, by <stranger>"],
      { CyclicBarrier(2, label: "step") }, { $0.wait() }),
    MisuseCase("Phaser: too many arrive", ["Phaser \"round\": one arrived of 0"]) {
      Phaser(label: "round").arrive()
    },
    MisuseCase(
      "Phaser: an action that waits for its own phase",
      ["Phaser \"round\": waited for by the thread that runs its action"]
    ) {
      let own = Locked<Phaser?>(nil)
      let phaser = Phaser(1, label: "round") { phase in
        own.withLock { $0 }?.wait(forEndOf: phase)
      }
      own.withLock { $0 = phaser }
      phaser.arrive()
    },
    MisuseCase(
      "Phaser: an action that waits for the next phase",
      ["Phaser \"round\": waited for by the thread that runs its action"]
    ) {
      let own = Locked<Phaser?>(nil)
      let phaser = Phaser(1, label: "round") { _ in own.withLock { $0 }?.arriveAndWait() }
      own.withLock { $0 = phaser }
      phaser.arrive()
    },
    destroying(
      "ResetEvent", ["ResetEvent \"ready\": destroyed while <waiter> waits, by <stranger>"],
      { ResetEvent(.automatic, label: "ready") }, { $0.wait() }),
    destroying(
      "Exchanger", ["Exchanger \"buffers\": destroyed while <waiter> waits, by <stranger>"],
      { Exchanger<Int>(label: "buffers") }, { _ = $0.exchange(1) }),
    destroying(
      "BoundedQueue",
      ["ConditionVariable \"BoundedQueue \"jobs\", an element\": destroyed", "by <stranger>"],
      { BoundedQueue<Int>(capacity: 1, label: "jobs") }, { _ = try? $0.take() }),
    MisuseCase(
      "Parker: a second thread",
      ["Parker \"worker\".park: another thread is parked already, <waiter>; called by <stranger>"]
    ) {
      let parker = Parker(label: "worker")
      try asleep("waiter") { parker.park() }
      try on("stranger") { parker.park() }
    },
    destroying(
      "Parker", ["Parker \"worker\": destroyed while <waiter> waits, by <stranger>"],
      { Parker(label: "worker") }, { $0.park() }),
    destroying(
      "AtomicBox", ["An atomic value: destroyed while 1 threads wait, by <stranger>"],
      { AtomicBox(1) }, { $0.wait(while: 1) }),
    destroying(
      "AtomicCounter", ["An atomic value: destroyed while 1 threads wait, by <stranger>"],
      { AtomicCounter() }, { $0.wait { $0 > 0 } }),
  ]
}
