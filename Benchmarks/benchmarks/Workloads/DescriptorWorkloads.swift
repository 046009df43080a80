import Dispatch
import Threading

/// A loop that watches many descriptors, of which few are active.
enum DescriptorWorkloads {
  static let all = [watched(10_000)].compactMap(\.self)

  private static let active = 100

  /// Nil where the process may not have so many descriptors.
  private static func watched(_ count: Int) -> Workload? {
    guard ProcessLimits.haveRoom(forDescriptors: count) else { return nil }
    return Workload(
      "loop/descriptors", item: "serve one of 100 active descriptors, of \(count) watched",
      threads: 2,
      [
        .ours { try batch($0, watching: count, with: OurWatch.init) },
        // What watching the idle ones costs is the difference.
        Implementation("ours-100") { try batch($0, watching: active, with: OurWatch.init) },
        Implementation("dispatch") {
          try batch($0, watching: count, with: DispatchWatch.init)
        },
      ])
  }

  private static func batch<Watch: DescriptorWatch>(
    _ items: Int, watching count: Int,
    with make: ([EventDescriptor], @escaping @Sendable (EventDescriptor) -> Void) throws -> Watch
  ) throws -> Int64 {
    var descriptors: [EventDescriptor] = []
    descriptors.reserveCapacity(count)
    for _ in 0..<count { descriptors.append(try EventDescriptor()) }
    let served = Tally()
    // What one round waits for: the loop's thread counts down, this one sets it before.
    let left = Tally()
    let done = DispatchSemaphore(value: 0)
    let watch = try make(descriptors) { descriptor in
      descriptor.wait()
      served.increment()
      left.value -= 1
      if left.value == 0 { done.signal() }
    }
    defer { watch.stop() }
    // Spread over those that are watched.
    let chosen = (0..<active).map { descriptors[$0 * count / active] }
    let stopwatch = Stopwatch()
    var rest = items
    while rest > 0 {
      let round = min(rest, active)
      left.value = round
      for index in 0..<round { chosen[index].signal() }
      done.wait()
      rest -= round
    }
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the events served", served.value, is: items)
    return nanoseconds
  }
}

/// What has a handler called, on one thread, for descriptors that are readable.
private protocol DescriptorWatch {
  init(_ all: [EventDescriptor], _ serve: @escaping @Sendable (EventDescriptor) -> Void) throws
  func stop()
}

private struct OurWatch: DescriptorWatch {
  private let loop: OurLoop
  private let sources: [DescriptorSource]

  init(_ all: [EventDescriptor], _ serve: @escaping @Sendable (EventDescriptor) -> Void) throws {
    loop = try OurLoop.start(on: nil)
    sources = all.map { descriptor in
      DescriptorSource(descriptor.descriptor, for: .readable) { _, _ in serve(descriptor) }
    }
    for source in sources { try loop.add(source) }
  }

  func stop() {
    for source in sources { source.cancel() }
    loop.stop()
  }
}

private struct DispatchWatch: DescriptorWatch {
  private let sources: [any DispatchSourceRead]
  private let group = DispatchGroup()

  init(_ all: [EventDescriptor], _ serve: @escaping @Sendable (EventDescriptor) -> Void) throws {
    let queue = DispatchQueue(label: "benchmarks")
    let group = group
    let watched = DispatchGroup()
    sources = all.map { descriptor in
      let source = DispatchSource.makeReadSource(
        fileDescriptor: descriptor.descriptor, queue: queue)
      source.setEventHandler { serve(descriptor) }
      source.setCancelHandler { group.leave() }
      group.enter()
      // It is watched from some time after `resume`, not from then on.
      watched.enter()
      source.setRegistrationHandler { watched.leave() }
      source.resume()
      return source
    }
    watched.wait()
  }

  func stop() {
    for source in sources { source.cancel() }
    group.wait()
  }
}
