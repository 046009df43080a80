internal import ThreadingPlatform

/// A block that was posted to a loop, in a place of the poster's sheet.
@unsafe
struct PostedBlock: ~Copyable {
  /// The block posted before this one while in the inbox, after it once in a queue.
  var next: UnsafeMutablePointer<PostedBlock>?
  let modes: UInt64
  var work: PostedWork
  /// The number of the place that the block is in.
  let number: UInt32

  /// Gives the place of a block back whose contents are gone.
  static func giveBack(_ block: UnsafeMutablePointer<PostedBlock>, number: UInt32) {
    unsafe PostSheet.giveBack(1, of: PostSheet.sheet(of: block, number: number))
  }
}

/// What was posted. Not copyable, so that no copy counts references up and down.
enum PostedWork: ~Copyable {
  case block(@Sendable () -> Void)
  /// Somebody waits for it, and is told if it will not run.
  case awaited(any AwaitedWork)
  case job(UnownedJob, RunLoopExecutor)

  var isJob: Bool {
    switch self {
    case .job: true
    default: false
    }
  }

  /// It will not be done: releases it, and tells whoever waits for it.
  consuming func abandon() {
    switch consume self {
    case .awaited(let work): work.abandon()
    default: break
    }
  }

  /// Does it and releases it.
  @inline(__always)
  consuming func run() {
    switch consume self {
    case .block(let body): body()
    case .awaited(let work): work.run()
    case .job(let job, let executor): executor.run(job)
    }
  }
}

/// Posted work that somebody waits for. One of the two is called, once.
protocol AwaitedWork: AnyObject, Sendable {
  func run()

  /// The loop's thread has ended: the work will not be done.
  func abandon()
}

/// Blocks in the order in which they were posted. Used by the loop's thread alone.
@safe
struct PostedBlockQueue {
  // SAFETY of @safe: each pointer is to a block that is in this queue alone, thus alive.
  private var first: UnsafeMutablePointer<PostedBlock>?
  private var last: UnsafeMutablePointer<PostedBlock>?

  init() {}

  var isEmpty: Bool { unsafe first == nil }

  /// Adds a block at the end.
  mutating func append(_ block: UnsafeMutablePointer<PostedBlock>) {
    unsafe block.pointee.next = nil
    if let last = unsafe last {
      unsafe last.pointee.next = block
    } else {
      unsafe first = block
    }
    unsafe last = block
  }

  /// Adds a chain in which each block points to the one posted before it.
  mutating func append(newestFirst chain: UnsafeMutablePointer<PostedBlock>?) {
    guard let newest = unsafe chain else { return }
    var next: UnsafeMutablePointer<PostedBlock>?
    var block = unsafe newest
    while true {
      let before = unsafe block.pointee.next
      unsafe block.pointee.next = unsafe next
      unsafe next = unsafe block
      guard let before = unsafe before else { break }
      unsafe block = unsafe before
    }
    if let last = unsafe last {
      unsafe last.pointee.next = block
    } else {
      unsafe first = unsafe block
    }
    unsafe last = unsafe newest
  }

  /// Adds the blocks of another queue in front of these.
  mutating func prepend(_ other: inout PostedBlockQueue) {
    guard let tail = unsafe other.last else { return }
    unsafe tail.pointee.next = first
    if unsafe first == nil { unsafe last = tail }
    unsafe first = other.first
    other = PostedBlockQueue()
  }

  /// Takes the oldest block out; the caller owns it.
  mutating func popFirst() -> UnsafeMutablePointer<PostedBlock>? {
    guard let block = unsafe first else { return nil }
    unsafe first = block.pointee.next
    if unsafe first == nil { unsafe last = nil }
    return unsafe block
  }
}
