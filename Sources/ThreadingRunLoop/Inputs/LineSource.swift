public import ThreadingPlatform

/// Reads a descriptor on a loop's thread and hands over what it delivers, line by line.
///
/// ```swift
/// let source = LineSource(standardInput) { source, event in
///   switch event {
///   case .line(let line): handle(line.text)
///   case .end: source.loopIsDone()
///   case .failed(let error): report(error)
///   }
/// }
/// try ThreadRunLoop.current.add(source)
/// ```
///
/// A line ends with LF or CR LF, which are not part of it; the last one need not end. Pipes,
/// sockets and terminals are read when something is there, regular files a piece in each pass. The
/// lines of one piece, of at most 16 KiB, are handed over in one go, unless the source is paused.
/// No more than a piece and the longest line are in memory at any time. The descriptor stays the
/// caller's: close it after the last event, or after cancelling the source.
public final class LineSource: InputSource, SignalledSource, @unchecked Sendable {
  /// A line without its end.
  public struct Line: Hashable, Sendable {
    /// The bytes as they were read.
    public let bytes: [UInt8]

    /// The line as text; bytes that are no UTF-8 are replaced.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
  }

  /// What happened.
  public enum Event: Sendable {
    /// A line came.
    case line(Line)
    /// All has been read: the last event. The source has been taken off its loop.
    case end
    /// Reading failed, or a line was longer than allowed (EMSGSIZE): the last event. The source has
    /// been taken off its loop.
    case failed(ThreadingError)
  }

  /// What a source calls: with itself and what happened.
  public typealias Handler = @Sendable (LineSource, Event) -> Void

  /// The descriptor that is read.
  public let descriptor: CInt

  /// The longest line that is accepted, in bytes, without its end.
  public let maximumLength: Int

  private let isFile: Bool
  // SAFETY: as in InputSource.
  private var handler: Handler?

  // SAFETY of @unchecked: touched by the loop's thread alone, while the source is on the loop.
  private var buffer: [UInt8] = []
  /// The beginning of a line whose end has not come.
  private var partial: [UInt8] = []
  /// Lines that were read and are to be handed over, from `position` on.
  private var lines: [Line] = []
  private var position = 0
  /// What comes after them, if it is the last.
  private var ending: Event?

  private static var pieceSize: Int { 16_384 }

  /// A source that reads a descriptor.
  ///
  /// - Parameters:
  ///   - descriptor: What is read; it may be blocking or not.
  ///   - maximumLength: The longest line that is accepted, in bytes; at least 1.
  ///   - handler: Called on the loop's thread.
  /// - Precondition: `maximumLength` is at least 1. If it is not, the program stops.
  public init(
    _ descriptor: CInt, maximumLength: Int = 1 << 20, handler: @escaping Handler
  ) {
    require(
      maximumLength >= 1,
      "LineSource.init: a maximum length of \(maximumLength) is below the minimum of 1")
    self.descriptor = descriptor
    self.maximumLength = maximumLength
    self.handler = handler
    isFile = DescriptorReading.isAlwaysReady(descriptor)
    super.init()
  }

  // MARK: - For the loop

  override var registration: Registration? {
    isFile ? nil : Registration(descriptor: descriptor, events: .readable, trigger: .level)
  }

  override var isReadyWhenAdded: Bool { isFile }

  override func job(for events: Poller.Events) -> SourceJob? {
    if events.contains(.signalled) { return .signalled(self) }
    guard events.contains(.closed) else { return .lines(self) }
    let error = ThreadingError.refused(
      by: "LineSource", code: .invalid, "descriptor \(descriptor) was closed while it was read")
    return handler.map { .line($0, self, .failed(error)) }
  }

  override func takeHandler() -> Any? {
    defer { handler = nil }
    return handler
  }

  /// Hands over what was read before; a regular file is read on.
  func serve() { serve(reads: isFile) }

  /// Hands over what was read before and what there is to read now.
  func serveReadable() { serve(reads: true) }

  private func serve(reads: Bool) {
    guard handOver() else { return goOnAfterPause() }
    if reads, ending == nil { readPiece() }
    guard handOver() else { return goOnAfterPause() }
    if let ending {
      // Whoever cancels first: after a cancel by another thread the handler does not begin.
      guard let handler = handlerInForce else { return goOnAfterPause() }
      if cancel() { handler(self, ending) }
    } else if isFile {
      owner.items?.signal(self)
    }
  }

  /// The source was paused, or cancelled: has it served again when the pause ends, if there is anything
  /// that nobody else would tell of.
  private func goOnAfterPause() {
    if isFile || ending != nil || position < lines.count { owner.items?.signal(self) }
  }

  /// The handler, unless the source was cancelled or paused.
  private var handlerInForce: Handler? {
    owner.items?.withLock { _ in isPaused ? nil : handler }
  }

  /// Hands over the lines that were read.
  ///
  /// - Returns: false if the source was cancelled or paused meanwhile.
  private func handOver() -> Bool {
    while position < lines.count {
      guard let handler = handlerInForce else { return false }
      let line = lines[position]
      position += 1
      // A handler that runs its loop has the others handed over there.
      if position < lines.count || ending != nil { owner.items?.signal(self) }
      handler(self, .line(line))
    }
    if !lines.isEmpty {
      // What was signalled for a run inside a handler has been done.
      owner.items?.takeBackSignal(self)
      lines.removeAll(keepingCapacity: true)
      position = 0
    }
    return handlerInForce != nil
  }

  private func readPiece() {
    if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: Self.pieceSize) }
    switch DescriptorReading.read(descriptor, into: &buffer) {
    case .nothingYet: break
    case .failed(let error): ending = .failed(error)
    case .bytes(0):
      if !partial.isEmpty { add([]) }
      if ending == nil { ending = .end }
    case .bytes(let count):
      var start = 0
      while ending == nil, let end = buffer[start..<count].firstIndex(of: UInt8(ascii: "\n")) {
        add(buffer[start..<end])
        start = end + 1
      }
      partial += buffer[start..<count]
      // One more for a CR that may belong to the end.
      if partial.count > maximumLength + 1 { refuse(partial.count) }
    }
  }

  /// Adds a line: what came of it before, and its rest.
  private func add(_ rest: ArraySlice<UInt8>) {
    var bytes = partial
    bytes += rest
    partial.removeAll(keepingCapacity: true)
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    if bytes.count > maximumLength {
      refuse(bytes.count)
    } else {
      lines.append(Line(bytes: bytes))
    }
  }

  private func refuse(_ length: Int) {
    partial = []
    if ending == nil {
      ending = .failed(
        .refused(
          by: "LineSource.maximumLength", code: .tooLong,
          "a line has \(length) bytes or more; at most \(maximumLength) are allowed"))
    }
  }
}
