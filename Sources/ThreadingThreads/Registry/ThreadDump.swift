public import ThreadingPlatform

/// Where every thread of the process was at one moment: its calls, innermost first.
///
/// ```swift
/// print(try ThreadDump.capture())
/// ```
///
/// Each thread is interrupted by a signal in its turn and notes its return addresses; what it was doing
/// goes on afterwards. No memory is allocated on the interrupted thread. A thread costs some ten system
/// calls and two switches of threads, 0.1 to 0.2 ms: ask for a dump when it is needed, not all the time.
///
/// What to know before using it in production:
///
/// - The signal is the last real-time signal that nobody handles when the first dump is made. It is the
///   package's for the rest of the process.
/// - System calls that the system does not restart after a signal (`epoll_wait`, `poll`, `nanosleep`
///   and their kin) end early with `EINTR` in the interrupted threads. Code of this package and of the
///   standard library bears that.
/// - The signal is handled on the thread's own stack, if it has set up no other: a thread that has less
///   than some 8 KiB left is driven over its end.
/// - A thread that blocks the signal, as those of Dispatch do, or that waits for a device, does not
///   answer. The dump says so for each.
/// - Calls are found where the C library can walk a stack without taking a lock (from 2.35 on);
///   elsewhere a thread has only the place where it is. Walking needs the unwind tables that compilers
///   write for Swift and C by default, and ends where code has none.
public struct ThreadDump: Sendable {
  /// One call on a thread's stack.
  public struct Frame: Sendable, Hashable {
    /// Where the code was, or will go on when the call returns.
    public let address: UInt
    /// The file that the code was loaded from; nil for code of no file.
    public let module: String?
    /// The address within the file, as `llvm-symbolizer --obj=module` takes it.
    public let offset: UInt
    /// The nearest exported symbol, as the linker has it: `swift demangle` makes it readable. nil when
    /// there is none, which for a program's own functions is the rule.
    public let symbol: String?
    /// How far the address is from the symbol's.
    public let symbolOffset: UInt
  }

  /// Why the calls of a thread are missing.
  public enum Gap: Sendable, Hashable {
    /// It blocks the signal.
    case blocksSignal
    /// It did not answer in time: it was stopped, waited for a device, or got no processor.
    case noAnswer
    /// It has ended meanwhile.
    case ended
    /// The system refused to send the signal, or to tell what is needed before, with this `errno`.
    case refused(Int32)
  }

  /// One thread.
  public struct Entry: Sendable {
    /// What the thread was like.
    public let thread: ThreadSnapshot
    /// Its calls, innermost first, at most 128; empty if there is a ``gap``.
    public let frames: [Frame]
    /// Why the calls are missing; nil if they are not.
    public let gap: Gap?
  }

  /// The threads in the order of their ids.
  public let threads: [Entry]

  /// Asks all threads of the process where they are.
  ///
  /// - Parameters:
  ///   - limit: how long to wait for one thread's answer.
  ///   - total: how long the whole may take; threads that are not reached in that time have the gap
  ///     ``Gap/noAnswer``.
  /// - Returns: the dump; it has at least the calling thread wherever there is a `proc` file system.
  /// - Throws: a ``ThreadingError``: `EAGAIN` when every real-time signal is in use; `EMFILE` or `ENFILE`
  ///   when no descriptor is left to read what the system tells of the threads.
  public static func capture(
    waiting limit: Duration = .milliseconds(100), inAll total: Duration = .seconds(2)
  ) throws(ThreadingError) -> ThreadDump {
    guard ThreadSampler.signal != nil else {
      throw .refused(
        by: "ThreadDump.capture", code: .outOfResources,
        "every real-time signal has a handler or is ignored: none is left to ask threads by")
    }
    let end = MonotonicInstant.now.advanced(by: total)
    return ThreadDump(
      threads: try ThreadSnapshot.all().map { thread in
        let deadline = min(end, .now.advanced(by: limit))
        return Entry(thread, until: deadline)
      })
  }
}

extension ThreadDump.Entry {
  fileprivate init(_ thread: ThreadSnapshot, until deadline: MonotonicInstant) {
    self.thread = thread
    if thread.id == SystemThread.currentID {
      frames = ThreadDump.frames(ThreadSampler.ownFrames(), firstIsCall: true)
      gap = nil
      return
    }
    switch ThreadSampler.sample(thread.id, withFrames: true, until: deadline) {
    case .success(let sample):
      frames = ThreadDump.frames(sample.frames, firstIsCall: false)
      gap = nil
    case .failure(let failure):
      frames = []
      gap =
        switch failure {
        case .blocksSignal: .blocksSignal
        case .noAnswer, .noSignal: .noAnswer
        case .ended: .ended
        case .refused(let code): .refused(code)
        }
    }
  }
}

extension ThreadDump {
  /// - Parameters:
  ///   - addresses: innermost first.
  ///   - firstIsCall: whether the first is a return address as the others are, and not where the
  ///     thread was interrupted.
  /// - Returns: a frame for each.
  fileprivate static func frames(_ addresses: [UInt], firstIsCall: Bool) -> [Frame] {
    addresses.enumerated().map { index, address in
      // A return address may lie beyond the end of a function that ends with the call.
      let isReturn = index > 0 || firstIsCall
      guard let place = CodePlace(isReturn && address > 0 ? address - 1 : address) else {
        return Frame(address: address, module: nil, offset: 0, symbol: nil, symbolOffset: 0)
      }
      return Frame(
        address: address, module: place.file, offset: address - place.base,
        symbol: place.symbol?.name, symbolOffset: place.symbol.map { address - $0.address } ?? 0)
    }
  }
}

extension ThreadDump: CustomStringConvertible {
  /// A report: a line for each thread, then one for each call. Symbols are as the linker has them;
  /// `swift demangle` reads the whole text and makes them readable.
  public var description: String {
    var lines: [String] = []
    for entry in threads {
      lines.append("\(entry.thread)")
      switch entry.gap {
      case nil: break
      case .blocksSignal: lines.append("  no calls: it blocks the signal")
      case .noAnswer: lines.append("  no calls: it did not answer in time")
      case .ended: lines.append("  no calls: it has ended")
      case .refused(let code): lines.append("  no calls: the signal was refused with errno \(code)")
      }
      for (index, frame) in entry.frames.enumerated() {
        lines.append("  \(index) \(frame)")
      }
    }
    return lines.joined(separator: "\n")
  }
}

extension ThreadDump.Frame: CustomStringConvertible {
  /// The address, the symbol with the distance from it, and the file with the offset in it.
  public var description: String {
    var text = "0x" + String(address, radix: 16)
    if let symbol { text += " \(symbol) + \(symbolOffset)" }
    if let module {
      text += " in \(module.split(separator: "/").last ?? "?") at 0x\(String(offset, radix: 16))"
    }
    return text
  }
}
