internal import CThreadingPlatform
internal import Synchronization
internal import ThreadingPlatform

/// A small plain value that is read far more often than written: readers take no lock and write to
/// no shared memory, so any number of them read at full speed.
///
/// A reader that a writer interferes with reads again; after some attempts it waits for the writer
/// to finish. Writers exclude each other.
///
/// - Note: Safe to use from any thread. What was written before a ``store(_:)`` or
///   ``update(_:)`` happens before the return of every ``load()`` that sees its value.
@safe
public final class SequenceLocked<Value: BitwiseCopyable & Sendable>: @unchecked Sendable {
  // `version` is odd while a writer, who holds `writers`, changes the words of the value:
  //
  //   writer: version odd (relaxed); each word (releasing); version even (releasing)
  //   reader: version (acquiring), again while odd; each word (acquiring); version (relaxed)
  //
  // A reader that has seen any word of a later write has thereby acquired what came before that
  // word, the odd version among it; so its second look at the version finds another than its first,
  // and it reads again. A reader that saw the even version has acquired all words of that write.
  //
  // SAFETY of @safe and @unchecked: the words live from init to deinit and are atomic.
  private let version = Atomic<UInt>(0)
  private let writers = FastMutex()
  private let words: UnsafeMutablePointer<WordCell>

  private struct WordCell: ~Copyable {
    let bits: Atomic<UInt>
  }

  private static var wordCount: Int {
    (MemoryLayout<Value>.size + MemoryLayout<UInt>.size - 1) / MemoryLayout<UInt>.size
  }

  private let label: String?

  /// A value that can be read without a lock.
  ///
  /// - Parameters:
  ///   - value: The value to begin with.
  ///   - label: What messages about misuse call it.
  public init(_ value: Value, label: String? = nil) {
    self.label = label
    let words = UnsafeMutablePointer<WordCell>.allocate(capacity: Self.wordCount)
    unsafe self.words = words
    unsafe Self.withWords(of: value) { bits in
      for index in bits.indices {
        unsafe (words + index).initialize(to: WordCell(bits: Atomic(bits[index])))
      }
    }
  }

  deinit {
    // relaxed: whoever destroys it has exclusive access to it.
    let writer = writers.word.load(ordering: .relaxed) & FastMutex.owner
    if writer != 0 {
      stop("destroyed while written by \(Misuse.holder(writer)), by \(Misuse.caller)")
    }
    unsafe words.deinitialize(count: Self.wordCount)
    unsafe words.deallocate()
  }

  /// The value at this moment: one that was stored as a whole.
  ///
  /// Costs two loads and one for each eight bytes of the value.
  public func load() -> Value {
    for _ in 0..<100 {
      if let value = tryLoad() { return value }
      ctp_spin_hint()
    }
    // The writer may not be running: sleep until it is done, and keep others out meanwhile.
    return withWriters { currentValue }
  }

  /// Replaces the value.
  public func store(_ value: Value) {
    withWriters { write(value) }
  }

  /// Changes the value; no other write comes in between.
  ///
  /// - Parameter body: What to do with the value. It must not write to this object: that stops the
  ///   program.
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws; the value is then left as it was.
  public func update<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withWriters { () throws(Failure) -> Result in
      var value = currentValue
      let result = try body(&value)
      write(value)
      return result
    }
  }

  private func withWriters<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if !writers.takeIfFree() {
      if writers.isHeldByCurrentThread { stop("used by its own update, on \(Misuse.caller)") }
      writers.lockSlowly(SystemThread.currentID, until: .distantFuture)
    }
    defer { writers.unlock() }
    return try body()
  }

  private func stop(_ what: String) -> Never {
    fatalError("\(Misuse.name("SequenceLocked<\(Value.self)>", label)): \(what)")
  }

  /// What is read when no writer interferes.
  private func tryLoad() -> Value? {
    // acquiring: pairs with the release of the even version.
    let before = version.load(ordering: .acquiring)
    guard before.isMultiple(of: 2) else { return nil }
    let value = currentValue
    // relaxed: the acquiring loads of the words keep it after them.
    return version.load(ordering: .relaxed) == before ? value : nil
  }

  private var currentValue: Value {
    let words = unsafe words
    return unsafe Self.value { bits in
      // acquiring: pairs with the release of the word.
      for index in bits.indices {
        unsafe bits[index] = words[index].bits.load(ordering: .acquiring)
      }
    }
  }

  /// `writers` is held.
  private func write(_ value: Value) {
    let now = version.load(ordering: .relaxed)
    // relaxed: whoever sees one of the words has acquired this.
    version.store(now &+ 1, ordering: .relaxed)
    let words = unsafe words
    unsafe Self.withWords(of: value) { bits in
      // releasing: pairs with the acquiring load of the word.
      for index in bits.indices {
        unsafe words[index].bits.store(bits[index], ordering: .releasing)
      }
    }
    // releasing: pairs with the acquiring load of the version.
    version.store(now &+ 2, ordering: .releasing)
  }

  /// Hands the value's bytes over as words, the last one filled up with zeros. On the stack, but
  /// for large values.
  private static func withWords(
    of value: Value, _ body: (UnsafeMutableBufferPointer<UInt>) -> Void
  ) {
    unsafe withUnsafeTemporaryAllocation(of: UInt.self, capacity: wordCount) { bits in
      unsafe bits.initialize(repeating: 0)
      unsafe withUnsafeBytes(of: value) {
        unsafe UnsafeMutableRawBufferPointer(bits).copyMemory(from: $0)
      }
      unsafe body(bits)
    }
  }

  /// The value whose words `fill` puts in.
  private static func value(_ fill: (UnsafeMutableBufferPointer<UInt>) -> Void) -> Value {
    unsafe withUnsafeTemporaryAllocation(of: UInt.self, capacity: wordCount) { bits in
      unsafe bits.initialize(repeating: 0)
      unsafe fill(bits)
      return unsafe UnsafeRawBufferPointer(bits).loadUnaligned(as: Value.self)
    }
  }
}
