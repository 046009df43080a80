import Threading

extension SourceChapter {
  // snippet: buffer
  /// 1. The command buffer: what any thread may add to.
  final class CommandBuffer: Sendable {
    private let commands = Locked<[String]>([])

    func add(_ command: String) { commands.withLock { $0.append(command) } }

    func takeAll() -> [String] {
      commands.withLock { commands in
        defer { commands = [] }
        return commands
      }
    }
  }
  // end

  // snippet: queue
  final class CommandQueue: Sendable {
    private let buffer = CommandBuffer()
    private let source: CustomInputSource

    init(registry: Registry, handle: @escaping @Sendable ([String]) -> Void) {
      // 2. The source, with its three routines.
      source = CustomInputSource(
        schedule: { _, _ in registry.add("commands") },
        cancel: { _, _ in registry.remove("commands") },
        perform: { [buffer] _ in handle(buffer.takeAll()) })
    }

    /// 3. Puts the source onto the loop of the calling thread.
    func install() throws { try ThreadRunLoop.current.add(source) }

    /// 4. Adds a command, which is not handled yet.
    func add(_ command: String) { buffer.add(command) }

    /// 5. Tells the worker, and wakes it.
    func fire() { source.signal() }

    /// 6. Takes the source off.
    func invalidate() { source.cancel() }
  }
  // end

  // snippet: registry
  /// 7. Who wants to send commands looks here for somebody who takes them.
  final class Registry: Sendable {
    private let names = Locked<Set<String>>([])

    func add(_ name: String) { names.withLock { _ = $0.insert(name) } }

    func remove(_ name: String) { names.withLock { _ = $0.remove(name) } }

    /// Waits until the name is there, or is not, for some seconds at most.
    func wait(for name: String, isThere: Bool) -> Bool {
      names.withLock(when: { $0.contains(name) == isThere }, for: .seconds(10)) { _ in } != nil
    }
  }
  // end

  struct Story {
    var lines: [String] = []
    var batches: [Int] = []
    var wasRegistered = false
    var wasRemoved = false
  }

  static func sendCommands() throws -> Story {
    let story = Locked(Story())
    let handled = AtomicCounter()
    let registry = Registry()
    let queue = CommandQueue(registry: registry) { commands in
      story.withLock { story in
        story.lines.append("the worker handles: \(commands.joined(separator: ", "))")
        story.batches.append(commands.count)
      }
      handled.increment(by: commands.count)
    }
    // snippet: worker
    let isOver = ExitFlag()
    let worker = try PosixThread.start(ThreadAttributes(name: "worker")) {
      try queue.install()
      ThreadRunLoop.current.run(until: isOver)
    }
    let isThere = registry.wait(for: "commands", isThere: true)
    for command in ["open", "turn", "cut"] { queue.add(command) }
    queue.fire()
    _ = handled.wait { $0 == 3 }
    queue.add("close")
    queue.fire()
    _ = handled.wait { $0 == 4 }
    queue.invalidate()
    // end
    let isGone = registry.wait(for: "commands", isThere: false)
    isOver.set()
    try worker.join()
    return story.withLock { story in
      story.wasRegistered = isThere
      story.wasRemoved = isGone
      return story
    }
  }
}
