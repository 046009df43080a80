internal import ThreadingPlatform

/// The sources of one loop. Guarded by the lock of its items, as are the variables of the sources.
struct SourceTable {
  private struct Slot {
    /// Raised whenever the slot's source goes, so that events of one that has gone are known.
    var generation: UInt32 = 0
    var source: InputSource?
    /// Whether the poller watches the source's descriptor.
    var isRegistered = false
    /// Whether the source was ready in a mode that is none of its own, and waits for a run in one.
    var isParked = false
    /// Whether its descriptor was found to be closed while it could not be served.
    var isClosed = false
    /// Whether a lasting hang-up or error, which was reported, is kept from being reported anew.
    var isMuted = false
    /// The wait of the poller after which the source was muted: the next one reports it again.
    var mutedAt: UInt64 = 0
  }

  private var slots: [Slot] = []
  private var free: [Int] = []
  /// How many sources there are for each set of modes, of those that keep a run going.
  private var counts: [(modes: UInt64, count: Int)] = []
  private var parkedCount = 0
  /// Made for the first source that needs it.
  private(set) var poller: Poller?
  /// The slot for which the poller watches a descriptor.
  private var watchers: [CInt: Int] = [:]
  /// How many descriptors the poller watches.
  private(set) var registeredCount = 0
  /// Whether a descriptor was closed before its registration could be ended.
  private var hasLostRegistration = false
  private var hasStaleEvents = false
  /// Where the next look for closed descriptors begins.
  private var checkPosition = 0
  /// Closed descriptors that were found, to be reported by the loop.
  private var found: [Poller.Event] = []
  /// Sources that were signalled, in order.
  private var signalled: [Poller.Event] = []

  // MARK: Adding and removing

  /// Adds a source that is on no loop.
  ///
  /// - Throws: what the poller refuses, EBUSY, ECANCELED; the source is then as before.
  mutating func add(
    _ source: InputSource, modes: UInt64, claim: () throws(ThreadingError) -> Void
  ) throws(ThreadingError) {
    let index = takeSlot()
    let registration = source.registration
    do throws(ThreadingError) {
      if let registration { try register(registration, index) }
      try claim()
    } catch {
      if slots[index].isRegistered, let registration { unregister(registration, index) }
      // An event may have been reported already.
      slots[index] = Slot(generation: slots[index].generation &+ 1)
      free.append(index)
      throw error
    }
    slots[index].source = source
    source.slot = index
    source.modes = modes
    // Changed before whoever did that could see that the source is on a loop.
    if source.registration?.events != registration?.events { _ = changeEvents(source) }
    if source.keepsRunGoing { count(modes, by: 1) }
    if source.isReadyWhenAdded { source.isSignalled = true }
    // By those who know the source already, or because it is ready.
    if source.isSignalled { noteSignalled(index) }
  }

  /// Takes a source off.
  ///
  /// - Returns: its handler, for release without the lock; nil if it was not there.
  mutating func remove(_ source: InputSource) -> Any? {
    guard source.slot >= 0 else { return nil }
    let index = source.slot
    if slots[index].isRegistered, let registration = source.registration {
      unregister(registration, index)
    }
    if slots[index].isParked { parkedCount -= 1 }
    slots[index] = Slot(generation: slots[index].generation &+ 1)
    free.append(index)
    if source.keepsRunGoing { count(source.modes, by: -1) }
    source.slot = -1
    return source.takeHandler()
  }

  /// Takes all sources off.
  ///
  /// - Returns: the sources, and their handlers for release without the lock.
  mutating func close() -> [(source: InputSource, handler: Any?)] {
    slots.compactMap(\.source).map { ($0, remove($0)) }
  }

  mutating func pause(_ source: InputSource) {
    guard source.slot >= 0, !source.isPaused else { return }
    source.isPaused = true
    source.pauseChanged()
    if slots[source.slot].isRegistered, let registration = source.registration {
      unregister(registration, source.slot)
    }
  }

  mutating func resume(_ source: InputSource) {
    guard source.slot >= 0, source.isPaused else { return }
    source.isPaused = false
    source.pauseChanged()
    if !slots[source.slot].isParked { registerAgain(source.slot) }
  }

  /// Watches a source's descriptor for what the source asks for now.
  ///
  /// - Returns: whether the loop has to be told.
  mutating func changeEvents(_ source: InputSource) -> Bool {
    // One that is paused or parked is registered with them later.
    guard source.slot >= 0, slots[source.slot].isRegistered,
      let registration = source.registration
    else { return false }
    slots[source.slot].isMuted = false
    do throws(ThreadingError) {
      try poller?.modify(
        registration.descriptor, for: registration.events, trigger: registration.trigger,
        token: token(source.slot))
      return false
    } catch {
      // Closed, or the number stands for something else by now.
      noteClosed(source.slot)
      return true
    }
  }

  /// How many places there are, taken or not.
  var slotCount: Int { slots.count }

  /// Whether any source is there that keeps a run in the given modes going.
  func hasSources(in modes: UInt64) -> Bool {
    counts.contains { $0.count > 0 && $0.modes & modes != 0 }
  }

  // MARK: Events

  /// What is to be called for an event that the poller's wait of a number reported, in a run in the
  /// given modes.
  ///
  /// - Returns: nil when there is nothing to call; else the call, and what is to be released after
  ///   it.
  mutating func job(
    for event: Poller.Event, in modes: UInt64, wait: UInt64
  ) -> (job: SourceJob, released: Any?)? {
    let index = Int(event.token & 0xFFFF_FFFF)
    guard index < slots.count, slots[index].generation == UInt32(event.token >> 32),
      let source = slots[index].source
    else {
      hasStaleEvents = true
      return nil
    }
    let isParked = source.modes & modes == 0
    if source.isPaused || isParked {
      // To be told of later; by then its number may stand for something else.
      if event.events.contains(.closed) { slots[index].isClosed = true }
      if !source.isPaused { park(index, source) }
      return nil
    }
    if event.events.contains(.closed) {
      let job = source.job(for: event.events)
      let handler = remove(source)
      return job.map { ($0, handler) }
    }
    if event.events.contains(.signalled) {
      guard source.isSignalled else { return nil }
      source.isSignalled = false
      return source.job(for: event.events).map { ($0, nil) }
    }
    guard let registration = source.registration else { return nil }
    // Without what was asked for when it was reported, but is not any more.
    let unasked = Poller.Events([.readable, .writable]).subtracting(registration.events)
    let events = event.events.subtracting(unasked)
    if events.isEmpty { return nil }
    if registration.trigger == .level, !mute(index, registration, events, wait) { return nil }
    return source.job(for: events).map { ($0, nil) }
  }

  /// Whether the poller's next wait reports an event once more if it still holds, so that an older
  /// report of it can be dropped.
  func isReportedAnew(_ event: Poller.Event) -> Bool {
    let index = Int(event.token & 0xFFFF_FFFF)
    guard index < slots.count, slots[index].generation == UInt32(event.token >> 32),
      slots[index].isRegistered, !slots[index].isMuted, !event.events.contains(.closed)
    else { return false }
    return slots[index].source?.registration?.trigger == .level
  }

  /// Watches again those sources that were ready in other modes than their own, as far as the
  /// given modes are among them.
  mutating func unpark(for modes: UInt64) {
    guard parkedCount > 0 else { return }
    for index in slots.indices where slots[index].isParked {
      guard let source = slots[index].source, source.modes & modes != 0 else { continue }
      slots[index].isParked = false
      parkedCount -= 1
      if !source.isPaused { registerAgain(index) }
    }
  }

  /// Looks at some descriptors in turn, and notes those that were closed.
  mutating func findClosed(atMost limit: Int) {
    guard let poller else { return }
    for _ in 0..<min(limit, slots.count) {
      checkPosition = (checkPosition + 1) % slots.count
      let slot = slots[checkPosition]
      guard slot.isRegistered, let registration = slot.source?.registration else { continue }
      if !poller.isWatching(registration.descriptor) { noteClosed(checkPosition) }
    }
  }

  /// Takes the events that the poller cannot report.
  mutating func takeFound() -> [Poller.Event] {
    guard !found.isEmpty else { return [] }
    defer { found = [] }
    return found
  }

  /// Whether sources are to be served that the poller does not report.
  var hasReadySources: Bool { !found.isEmpty || !signalled.isEmpty }

  var hasFound: Bool { !found.isEmpty }

  // MARK: Signalled sources

  /// Marks a source to be served once, however often it is signalled before that.
  ///
  /// - Returns: whether the loop has to be told.
  mutating func signal(_ source: InputSource) -> Bool {
    guard !source.isSignalled else { return false }
    source.isSignalled = true
    guard source.slot >= 0, !source.isPaused, !slots[source.slot].isParked else { return false }
    noteSignalled(source.slot)
    return true
  }

  /// Takes a signal back that was not served yet.
  mutating func takeBackSignal(_ source: InputSource) {
    guard source.isSignalled else { return }
    source.isSignalled = false
    guard source.slot >= 0 else { return }
    let token = token(source.slot)
    signalled.removeAll { $0.token == token }
  }

  /// Takes the sources that were signalled.
  mutating func takeSignalled() -> [Poller.Event] {
    guard !signalled.isEmpty else { return [] }
    defer { signalled = [] }
    return signalled
  }

  private mutating func noteSignalled(_ index: Int) {
    signalled.append(Poller.Event(token: token(index), events: .signalled))
  }

  /// Ends registrations that go on reporting events though their descriptors are closed.
  mutating func dropLostRegistrations() {
    guard hasStaleEvents else { return }
    hasStaleEvents = false
    guard hasLostRegistration, let poller else { return }
    var registrations: [(CInt, Poller.Events, Poller.Trigger, UInt64)] = []
    for (index, slot) in slots.enumerated() where slot.isRegistered {
      guard let registration = slot.source?.registration else { continue }
      registrations.append(
        (
          registration.descriptor, registration.events,
          slot.isMuted ? .edge : registration.trigger, token(index)
        ))
    }
    // Refused when descriptors have run out: the next stale event brings us here again.
    if (try? poller.startAnew(registrations)) != nil { hasLostRegistration = false }
  }

  // MARK: -

  private func token(_ index: Int) -> UInt64 {
    UInt64(slots[index].generation) << 32 | UInt64(index)
  }

  private mutating func takeSlot() -> Int {
    if let index = free.popLast() { return index }
    slots.append(Slot())
    return slots.count - 1
  }

  private mutating func count(_ modes: UInt64, by change: Int) {
    if let index = counts.firstIndex(where: { $0.modes == modes }) {
      counts[index].count += change
    } else {
      counts.append((modes, change))
    }
  }

  private mutating func register(
    _ registration: InputSource.Registration, _ index: Int
  ) throws(ThreadingError) {
    let poller: Poller
    if let made = self.poller {
      poller = made
    } else {
      poller = try Poller()
      self.poller = poller
    }
    try poller.add(
      registration.descriptor, for: registration.events, trigger: registration.trigger,
      token: token(index))
    slots[index].isRegistered = true
    slots[index].isMuted = false
    registeredCount += 1
    let former = watchers.updateValue(index, forKey: registration.descriptor)
    if let former { noteReplaced(former) }
  }

  private mutating func unregister(_ registration: InputSource.Registration, _ index: Int) {
    if poller?.remove(registration.descriptor) == false { hasLostRegistration = true }
    watchers[registration.descriptor] = nil
    slots[index].isRegistered = false
    registeredCount -= 1
  }

  private mutating func registerAgain(_ index: Int) {
    guard let source = slots[index].source else { return }
    if slots[index].isClosed { return noteClosed(index) }
    if source.isSignalled { noteSignalled(index) }
    guard let registration = source.registration else { return }
    do {
      try register(registration, index)
    } catch {
      noteClosed(index)
    }
  }

  /// A descriptor was closed, and its number given to another one, which is watched now. The slot's
  /// own registration is gone, or lives on beyond the reach of the number; ending it by the number
  /// would end that of the newcomer.
  private mutating func noteReplaced(_ index: Int) {
    slots[index].isRegistered = false
    registeredCount -= 1
    hasLostRegistration = true
    noteClosed(index)
  }

  private mutating func noteClosed(_ index: Int) {
    found.append(Poller.Event(token: token(index), events: .closed))
  }

  /// Takes a source that is ready in a mode that is none of its own out of the poller, which would
  /// report it over and over.
  private mutating func park(_ index: Int, _ source: InputSource) {
    if slots[index].isRegistered, let registration = source.registration {
      unregister(registration, index)
    }
    if !slots[index].isParked {
      slots[index].isParked = true
      parkedCount += 1
    }
  }

  /// Keeps a level-triggered source from reporting a hang-up or error over and over when there is
  /// nothing to read or write, and undoes that when there is.
  ///
  /// - Returns: whether the events are to be reported.
  private mutating func mute(
    _ index: Int, _ registration: InputSource.Registration, _ events: Poller.Events, _ wait: UInt64
  ) -> Bool {
    let hasWork = !events.isDisjoint(with: [.readable, .writable])
    let isMuted = slots[index].isMuted
    // The change of the registration has the next wait report once more what lasts.
    if isMuted, !hasWork { return wait != slots[index].mutedAt &+ 1 }
    guard isMuted == hasWork else { return true }
    // Refused only for a closed descriptor, which is found later.
    try? poller?.modify(
      registration.descriptor, for: registration.events, trigger: hasWork ? .level : .edge,
      token: token(index))
    slots[index].isMuted = !hasWork
    slots[index].mutedAt = wait
    return true
  }
}

extension Poller.Events {
  /// The source was signalled: reported by the loop's table, not by the poller.
  static let signalled = Poller.Events(rawValue: 1 << 5)
}
