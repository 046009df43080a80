internal import ThreadingPlatform

/// Work in stages, each item through all of them, several items at once: parse, transform, write.
///
/// ```swift
/// let lines = WorkPipeline(of: String.self)
///   .parallel { try parse($0) }
///   .parallel { transform($0) }
///   .inOrder { try file.write($0) }
/// try lines.run(source, inFlight: 16)
/// ```
///
/// A pipeline is a description: it may be run any number of times, also at once. At most `inFlight` items are
/// under way, from the moment at which they are taken from the source up to the end of the last stage, so memory
/// is bounded whatever the speeds of the stages are: a slow stage holds back the source. No thread waits for a
/// place in a buffer; one that cannot go on with its item leaves it and takes another.
public struct WorkPipeline<Input: Sendable, Output: Sendable>: Sendable {
  let stages: [PipelineStage]

  init(stages: [PipelineStage]) { self.stages = stages }

  /// Adds a stage that handles any number of items at once.
  ///
  /// - Parameter body: the work on one item. Called on several threads at once.
  /// - Returns: the longer pipeline.
  public func parallel<Next: Sendable>(
    _ body: @escaping @Sendable (Output) throws -> Next
  ) -> WorkPipeline<Input, Next> { adding(.parallel, body) }

  /// Adds a stage that handles one item at a time, in the order in which they came from the source.
  ///
  /// - Parameter body: the work on one item. Calls do not overlap, and each sees what the one before wrote.
  /// - Returns: the longer pipeline.
  public func inOrder<Next: Sendable>(
    _ body: @escaping @Sendable (Output) throws -> Next
  ) -> WorkPipeline<Input, Next> { adding(.inOrder, body) }

  /// Adds a stage that handles one item at a time, as they come.
  ///
  /// - Parameter body: the work on one item. Calls do not overlap, and each sees what the one before wrote.
  /// - Returns: the longer pipeline.
  public func oneAtATime<Next: Sendable>(
    _ body: @escaping @Sendable (Output) throws -> Next
  ) -> WorkPipeline<Input, Next> { adding(.oneAtATime, body) }

  private func adding<Next: Sendable>(
    _ kind: PipelineStage.Kind, _ body: @escaping @Sendable (Output) throws -> Next
  ) -> WorkPipeline<Input, Next> {
    let work: @Sendable (any Sendable) throws -> any Sendable = { item in
      guard let input = item as? Output else {
        fatalError("WorkPipeline: a stage for \(Output.self) was given a \(type(of: item))")
      }
      return try body(input)
    }
    return WorkPipeline<Input, Next>(stages: stages + [PipelineStage(kind: kind, body: work)])
  }

  /// Runs all items of a sequence through the stages, on the calling thread and on threads of a pool, and
  /// returns when all are through. The values of the last stage are dropped.
  ///
  /// The sequence is asked for items by one thread at a time, and never for more than may be in flight. For a
  /// source that may fail, see ``run(inFlight:on:while:from:)``.
  ///
  /// - Parameters:
  ///   - source: where the items come from; it may be endless if `goesOn` ends it.
  ///   - inFlight: how many items are under way at most, from 1; four for each thread unless given.
  ///   - pool: whose threads help.
  ///   - goesOn: asked before each item is taken; false ends the run when the items in flight are through.
  /// - Returns: how many items went through all stages.
  /// - Throws: the error that a stage threw first. No further item is taken then; those in flight are dropped
  ///   before their next stage.
  /// - Precondition: `inFlight` is at least 1. If not, the program stops.
  @discardableResult
  public func run<Source: Sequence>(
    _ source: Source, inFlight: Int? = nil, on pool: ThreadPool = .shared,
    while goesOn: (@Sendable () -> Bool)? = nil
  ) throws -> Int where Source.Element == Input {
    var iterator = source.makeIterator()
    return try run(inFlight, on: pool, next: { iterator.next() }, while: goesOn)
  }

  /// Runs items through the stages for as long as a closure gives some: for a source that may fail, such as a
  /// file.
  ///
  /// ```swift
  /// try lines.run(inFlight: 16) { try reader.nextLine() }
  /// ```
  ///
  /// - Parameters:
  ///   - inFlight: how many items are under way at most, from 1; four for each thread unless given.
  ///   - pool: whose threads help.
  ///   - goesOn: asked before each item is taken; false ends the run when the items in flight are through.
  ///   - next: gives the next item; nil ends the run when the items in flight are through. Called by one thread
  ///     at a time, on whatever threads they are, and never for more than may be in flight.
  /// - Returns: how many items went through all stages.
  /// - Throws: the error that `next` or a stage threw first. No further item is taken then; those in flight are
  ///   dropped before their next stage.
  /// - Precondition: `inFlight` is at least 1. If not, the program stops.
  @discardableResult
  public func run(
    inFlight: Int? = nil, on pool: ThreadPool = .shared,
    while goesOn: (@Sendable () -> Bool)? = nil,
    from next: sending @escaping () throws -> Input?
  ) throws -> Int {
    try run(inFlight, on: pool, next: { try next() }, while: goesOn)
  }

  private func run(
    _ inFlight: Int?, on pool: ThreadPool, next: @escaping () throws -> (any Sendable)?,
    while goesOn: (@Sendable () -> Bool)?
  ) throws -> Int {
    let workers = max(1, pool.core.closureWidth)
    let limit = inFlight ?? workers * 4
    require(limit >= 1, "WorkPipeline.run: \(limit) items in flight; at least 1 is needed")
    let run = PipelineRun(stages: stages, limit: limit, next: next, while: goesOn)
    return try run.run(on: pool.core, workers: min(workers, limit))
  }
}

extension WorkPipeline where Input == Output {
  /// A pipeline without stages.
  ///
  /// - Parameter input: the type of the items.
  public init(of input: Input.Type) { stages = [] }
}

/// Computes a value from each element on several threads, and hands the values on one at a time, in the order of
/// the elements, while others are still being computed: a ``parallelMap(_:on:piece:_:)`` with bounded memory.
///
/// ```swift
/// try parallelMapInOrder(files, inFlight: 8, { try compress($0) }) { archive.append($0) }
/// ```
///
/// - Parameters:
///   - source: the elements; they are taken one at a time, and may be endless if `goesOn` ends them.
///   - inFlight: how many elements and values are kept at most, from 1; four for each thread unless given.
///   - pool: whose threads help.
///   - goesOn: asked before each element is taken; false ends the loop when those in flight are through.
///   - transform: computes a value. Called on several threads at once.
///   - body: is handed the values. Calls do not overlap, on whatever threads they are.
/// - Returns: how many values were handed on.
/// - Throws: the error that `transform` or `body` threw first; values before it in order may have been handed on.
@discardableResult
public func parallelMapInOrder<Source: Sequence, Value: Sendable>(
  _ source: Source, inFlight: Int? = nil, on pool: ThreadPool = .shared,
  while goesOn: (@Sendable () -> Bool)? = nil,
  _ transform: @escaping @Sendable (Source.Element) throws -> Value,
  _ body: @escaping @Sendable (Value) throws -> Void
) throws -> Int where Source.Element: Sendable {
  try WorkPipeline(of: Source.Element.self).parallel(transform).inOrder(body)
    .run(source, inFlight: inFlight, on: pool, while: goesOn)
}

/// One stage of a pipeline.
struct PipelineStage: Sendable {
  enum Kind: Sendable {
    case parallel
    case inOrder
    case oneAtATime
  }

  let kind: Kind
  let body: @Sendable (any Sendable) throws -> any Sendable
}
