/// Calls `body` with each element, on the calling thread and on threads of a pool at once, and returns when all
/// are done.
///
/// ```swift
/// let primes = Locked<[Int]>([])
/// parallelForEach(1...1_000) { number in
///   if isPrime(number) { primes.withLock { $0.append(number) } }
/// }
/// ```
///
/// Elements are handed out in pieces that become smaller toward the end, so cheap elements cost little more than
/// in a plain loop and dear ones keep all threads busy to the end. Loops may be nested: a loop always comes to
/// its end on the thread that called it, with whatever help there is. As many threads take part as the pool
/// runs closures at once, and no more than the process had processors at its first loop: with one processor,
/// the calling thread does it all.
///
/// What was written before the call happens before `body`; what `body` wrote happens before the return.
///
/// - Parameters:
///   - collection: whose elements.
///   - pool: whose threads help.
///   - piece: how many elements go to a thread at once, from 1; nil has it found.
///   - goesOn: asked before each piece, by the thread that is to do it: false ends the loop when the pieces under
///     way are done.
///   - body: what to do with an element. Called on several threads at once.
/// - Returns: whether all elements were done: false only if `goesOn` has said no.
/// - Throws: the error that `body` threw first; pieces that were under way are done before.
/// - Complexity: O(n) calls of `body`, and O(log n) steps of handing out.
@inlinable
@discardableResult
public func parallelForEach<Elements: RandomAccessCollection & Sendable, Failure: Error>(
  _ collection: Elements, on pool: ThreadPool = .shared, piece: Int? = nil,
  while goesOn: (@Sendable () -> Bool)? = nil,
  _ body: @Sendable (Elements.Element) throws(Failure) -> Void
) throws(Failure) -> Bool {
  try pool.forEachPiece(of: collection.count, piece: piece, while: goesOn) {
    range throws(Failure) in
    var index = collection.index(collection.startIndex, offsetBy: range.lowerBound)
    for _ in range {
      try body(collection[index])
      collection.formIndex(after: &index)
    }
  }
}

/// Calls `body` with pieces of a range of numbers, on the calling thread and on threads of a pool at once: the
/// form for loops whose inner part the compiler should see as a plain loop.
///
/// ```swift
/// let total = Locked(0)
/// parallelForEachPiece(of: 1_000_000) { piece in
///   var sum = 0
///   for number in piece { sum &+= number }
///   total.withLock { [sum] in $0 += sum }
/// }
/// ```
///
/// See ``parallelForEach(_:on:piece:while:_:)`` for how pieces are cut.
///
/// - Parameters:
///   - count: the range is `0..<count`.
///   - pool: whose threads help.
///   - piece: how many numbers go to a thread at once, from 1; nil has it found.
///   - goesOn: asked before each piece: false ends the loop when the pieces under way are done.
///   - body: what to do with a piece. Called on several threads at once.
/// - Returns: whether all pieces were done: false only if `goesOn` has said no.
/// - Throws: the error that `body` threw first; pieces that were under way are done before.
@discardableResult
public func parallelForEachPiece<Failure: Error>(
  of count: Int, on pool: ThreadPool = .shared, piece: Int? = nil,
  while goesOn: (@Sendable () -> Bool)? = nil,
  _ body: @Sendable (Range<Int>) throws(Failure) -> Void
) throws(Failure) -> Bool {
  try pool.forEachPiece(of: count, piece: piece, while: goesOn, body)
}

/// Computes a value from each element, on the calling thread and on threads of a pool at once.
///
/// ```swift
/// let lengths = parallelMap(["a", "bb", "ccc"]) { $0.count }  // [1, 2, 3]
/// ```
///
/// See ``parallelForEach(_:on:piece:while:_:)`` for how elements are handed out.
///
/// - Parameters:
///   - collection: whose elements.
///   - pool: whose threads help.
///   - piece: how many elements go to a thread at once, from 1; nil has it found.
///   - transform: computes a value. Called on several threads at once.
/// - Returns: the values, in the order of the elements.
/// - Throws: the error that `transform` threw first; values that were computed are released.
@inlinable
public func parallelMap<
  Elements: RandomAccessCollection & Sendable, Value: Sendable, Failure: Error
>(
  _ collection: Elements, on pool: ThreadPool = .shared, piece: Int? = nil,
  _ transform: @Sendable (Elements.Element) throws(Failure) -> Value
) throws(Failure) -> [Value] {
  let count = collection.count
  // Swift's empty arrays are one object, whose count the initialiser below would write: from many threads.
  if count == 0 { return [] }
  var failure: Failure?
  let values = unsafe [Value](unsafeUninitializedCapacity: count) { buffer, initialized in
    guard let base = buffer.baseAddress else { return }
    let room = unsafe MappedRoom(base)
    do throws(Failure) {
      _ = try pool.forEachPiece(of: count, piece: piece, while: nil) { range throws(Failure) in
        var index = collection.index(collection.startIndex, offsetBy: range.lowerBound)
        var done = range.lowerBound
        defer { room.note(range.lowerBound..<done) }
        for _ in range {
          room.put(try transform(collection[index]), at: done)
          done += 1
          collection.formIndex(after: &index)
        }
      }
      initialized = count
    } catch {
      room.clear()
      failure = error
    }
  }
  if let failure { throw failure }
  return values
}

/// Computes one value from all elements, on the calling thread and on threads of a pool at once.
///
/// ```swift
/// let sum = parallelReduce(1...1_000, into: 0, { $0 += $1 }, combining: +)
/// ```
///
/// The elements are cut into pieces, each piece is folded into a value that begins as `identity`, and those
/// values are combined in the order of the elements. Where the cuts are depends on the number of elements and on
/// `piece` alone, so the result is the same in each run and on each machine, also where the order of additions
/// matters, as with floating-point numbers.
///
/// - Parameters:
///   - collection: whose elements.
///   - identity: what each piece begins with; combining it with a value must give that value.
///   - pool: whose threads help.
///   - piece: how many elements are folded at once, from 1; unless given, a 128th of all.
///   - fold: adds an element to a value. Called on several threads at once.
///   - combine: makes one value of two neighbouring ones. Called on the calling thread.
/// - Returns: the value of all; `identity` if there are no elements.
/// - Throws: the error that `fold` threw first.
@inlinable
public func parallelReduce<
  Elements: RandomAccessCollection & Sendable, Value: Sendable, Failure: Error
>(
  _ collection: Elements, into identity: Value, on pool: ThreadPool = .shared,
  piece: Int? = nil,
  _ fold: @Sendable (inout Value, Elements.Element) throws(Failure) -> Void,
  combining combine: (Value, Value) -> Value
) throws(Failure) -> Value {
  let count = collection.count
  let size = piece ?? max(1, (count + 127) / 128)
  if size < 1 { fatalError("parallelReduce: pieces of \(size) elements; at least 1") }
  let pieces = count / size + (count % size == 0 ? 0 : 1)
  let parts = try parallelMap(0..<pieces, on: pool, piece: 1) { part throws(Failure) in
    var value = identity
    let first = part * size
    var index = collection.index(collection.startIndex, offsetBy: first)
    for _ in 0..<min(size, count - first) {
      try fold(&value, collection[index])
      collection.formIndex(after: &index)
    }
    return value
  }
  guard let first = parts.first else { return identity }
  return parts.dropFirst().reduce(first, combine)
}
