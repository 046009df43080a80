internal import Synchronization
internal import ThreadingLocks

extension ThreadOperation {
  /// Has this operation wait until another has finished, whichever way that one ends and wherever it
  /// runs: the two may be in different queues, or one of them started by hand.
  ///
  /// An operation keeps its dependencies alive until it starts or is cancelled. Adding one that has
  /// finished, or adding to an operation that is cancelled, changes nothing. Costs O(1), unless this
  /// operation has dependants and the other has dependencies: then those of the other are searched for
  /// this one.
  ///
  /// - Parameter other: the operation to wait for.
  /// - Throws: ``ThreadOperationError/Reason/dependencyCycle`` if this operation would come to wait for
  ///   itself, with the way round in the message;
  ///   ``ThreadOperationError/Reason/hasStarted`` if this operation has started or finished.
  public final func addDependency(_ other: ThreadOperation) throws(ThreadOperationError) {
    guard other !== self else {
      throw ThreadOperationError(
        .dependencyCycle, self, "\(self) cannot depend on itself")
    }
    try add(other, isKnownToBeOpen: false)
  }

  /// As ``addDependency(_:)``, where `isKnownToBeOpen` says that `other` was found not to wait for this one,
  /// a moment ago.
  ///
  /// - Throws: as there.
  private final func add(
    _ other: ThreadOperation, isKnownToBeOpen: Bool
  ) throws(ThreadOperationError) {
    lockBoth(other)
    let mine = load()
    guard !mine.hasStarted else {
      unlockBoth(other)
      throw hasStarted("take a dependency on \(other.label)")
    }
    if mine.has(OperationWord.cancelled) {
      unlockBoth(other)
      return
    }
    // Set before the look at isClosed, in one step: who closes the operation later sees the flag. If it was set
    // before, a look is enough.
    var seen = other.load()
    if !seen.has(OperationWord.hasDependants) {
      seen = OperationWord(
        bits: other.word.bitwiseOr(
          OperationWord.hasDependants, ordering: .acquiringAndReleasing
        ).oldValue)
    }
    if seen.has(OperationWord.isClosed) {
      unlockBoth(other)
      return
    }
    let mayCloseCycle = !dependants.isEmpty && !other.dependencyList.isEmpty
    // acquiring: as in `hold`. One that is ready loses its place in its queue by being held, also if the
    // dependency is refused then. So whether it will be is found out first; but for one that closes a cycle
    // together with another thread at this moment.
    if mayCloseCycle, !isKnownToBeOpen, Self.count(holds.load(ordering: .acquiring)) == 0 {
      unlockBoth(other)
      Self.searching.lock()
      let way = way(from: other)
      Self.searching.unlock()
      if let way { throw cycle(through: other, way) }
      return try add(other, isKnownToBeOpen: true)
    }
    guard hold() else {
      unlockBoth(other)
      throw hasStarted("take a dependency on \(other.label)")
    }
    let (list, edge) = DependencyList.adding(other, of: self, to: dependencyList)
    dependencyList = list
    other.dependants.append(edge)
    // A cycle through the new edge needs both. Whoever adds the last edge of a cycle sees them, since
    // each edge is added with the locks of both its ends held.
    unlockBoth(other)
    if mayCloseCycle { try refuseCycle(through: other) }
  }

  /// Has this operation no longer wait for another. Does nothing if it does not depend on it.
  ///
  /// If it was the last one that had not finished, and the operation is in a queue, it is ready at once.
  ///
  /// - Parameter other: the operation to wait for no longer.
  /// - Throws: ``ThreadOperationError/Reason/hasStarted`` if this operation has started or finished.
  public final func removeDependency(_ other: ThreadOperation) throws(ThreadOperationError) {
    guard other !== self else { return }
    lockBoth(other)
    guard hasNotStarted else {
      unlockBoth(other)
      throw hasStarted("drop its dependency on \(other.label)")
    }
    let dropped = dropEdges(to: other)
    unlockBoth(other)
    drop(dropped)
  }

  /// What it depends on, in the order in which it was added: those that have not finished, and those
  /// that have since they were added. Empty once it has started and finished.
  public final var dependencies: [ThreadOperation] {
    lock.lock()
    let all = dependencyList.targets
    lock.unlock()
    var seen: Set<ObjectIdentifier> = []
    return all.reversed().filter { seen.insert(ObjectIdentifier($0)).inserted }
  }

  // MARK: -

  private final func hasStarted(_ wish: String) -> ThreadOperationError {
    ThreadOperationError(.hasStarted, self, "\(self) cannot \(wish): it has started")
  }

  private final func lockBoth(_ other: ThreadOperation) {
    if unsafe Unmanaged.passUnretained(self).toOpaque() < Unmanaged.passUnretained(other).toOpaque()
    {
      lock.lock()
      other.lock.lock()
    } else {
      other.lock.lock()
      lock.lock()
    }
  }

  private final func unlockBoth(_ other: ThreadOperation) {
    lock.unlock()
    other.lock.unlock()
  }

  /// Takes one hold more, with `lock` held. False if the operation has been started.
  private final func hold() -> Bool {
    // acquiring: pairs with the step to 0, after which the queue may be looked at.
    var seen = holds.load(ordering: .acquiring)
    while Self.count(seen) != 0 {
      let (exchanged, original) = holds.compareExchange(
        expected: seen, desired: (seen + 1) | Self.hadDependencies, ordering: .acquiring)
      if exchanged { return true }
      seen = original
    }
    return core?.withdraw(self) ?? false
  }

  /// Gives holds back, and lets the operation be ready if they were the last.
  private final func drop(_ count: UInt32) {
    if count > 0, giveBack(count) { core?.admit(self) }
  }

  /// With both locks held: takes out all edges to `other`.
  ///
  /// - Returns: how many of them were still holding the operation.
  private final func dropEdges(to other: ThreadOperation) -> UInt32 {
    var linked: UInt32 = 0
    var list = dependencyList
    list.removeAll(to: other, of: self) { edge in
      if other.dependants.remove(edge) { linked += 1 }
      // Not the last reference: the caller has one.
      unsafe Unmanaged.passUnretained(other).release()
      edge.deallocate()
    }
    dependencyList = list
    return linked
  }

  /// Lets go of all dependencies, finished or not; if it is in a queue, it is ready afterwards.
  final func letGoOfDependencies() {
    lock.lock()
    var list = dependencyList
    dependencyList = DependencyList()
    lock.unlock()
    var linked: UInt32 = 0
    while let (edge, owned) = unsafe list.popFirst(of: self) {
      let dependency = unsafe owned.takeRetainedValue()
      if dependency.lock.withLock({ dependency.dependants.remove(edge) }) { linked += 1 }
      edge.deallocate()
    }
    drop(linked)
  }

  /// As ``letGoOfDependencies()``, for one that goes away: nobody else can reach its edges but the
  /// dependencies.
  ///
  /// What goes away with it goes one after another, not one inside the other: a chain of a million
  /// operations that never ran is freed on any stack.
  final func letGoOfDependenciesAtEnd() {
    let context = OperationContext.current
    var list = dependencyList
    dependencyList = DependencyList()
    while let (edge, dependency) = unsafe list.popFirst(of: self) {
      unsafe dependency._withUnsafeGuaranteedRef { target in
        target.lock.withLock { _ = target.dependants.remove(edge) }
      }
      edge.deallocate()
      unsafe context.releaseLater(dependency)
    }
    context.releaseNow()
  }
}

// MARK: - Cycles

extension ThreadOperation {
  /// Held while searching, so that of several threads that close one cycle together exactly one is
  /// refused. Not taken for operations without dependants, which is what new ones are.
  private static let searching = FastMutex()

  /// Takes the dependency on `other` back and throws if it closes a cycle.
  private final func refuseCycle(through other: ThreadOperation) throws(ThreadOperationError) {
    Self.searching.lock()
    guard let way = way(from: other) else {
      Self.searching.unlock()
      return
    }
    lockBoth(other)
    let dropped = dropEdges(to: other)
    unlockBoth(other)
    Self.searching.unlock()
    drop(dropped)
    throw cycle(through: other, way)
  }

  private final func cycle(
    through other: ThreadOperation, _ way: [ThreadOperation]
  ) -> ThreadOperationError {
    var names = way.prefix(8).map(\.label)
    if way.count > names.count { names.append("(\(way.count - names.count) more)") }
    return ThreadOperationError(
      .dependencyCycle, self,
      "\(self) cannot depend on \(other): that one waits for this one already: "
        + ([label] + names + [label]).joined(separator: " -> "))
  }

  /// The operations through which `start` waits for this one, `start` first; nil if it does not.
  private final func way(from start: ThreadOperation) -> [ThreadOperation]? {
    var cameFrom = [ObjectIdentifier(start): start]
    var open: [ThreadOperation] = [start]
    while let operation = open.popLast() {
      operation.lock.lock()
      let targets = operation.dependencyList.targets
      operation.lock.unlock()
      for target in targets where !target.isFinished {
        if target === self {
          var way = [operation]
          while let last = way.last, last !== start, let before = cameFrom[ObjectIdentifier(last)] {
            way.append(before)
          }
          return way.reversed()
        }
        if cameFrom[ObjectIdentifier(target)] == nil {
          cameFrom[ObjectIdentifier(target)] = operation
          open.append(target)
        }
      }
    }
    return nil
  }
}
