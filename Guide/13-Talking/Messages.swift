import Glibc
import Threading

extension TalkingChapter {
  static func messagesOfSocket() throws -> [String] {
    let (mine, its) = try MessageSocket.pair()
    let worker = try LoopChapter.LoopThread(name: "worker")
    let received = Locked<[String]>([])
    let isOver = AtomicFlag()
    // snippet: messages
    let source = MessageSource(its) { _, event in
      switch event {
      case .message(let message):
        received.withLock { $0.append(String(decoding: message.bytes, as: UTF8.self)) }
      case .end, .failed:
        isOver.testAndSet()
      }
    }
    try worker.loop.add(source)
    for word in ["one", "two", "three"] { _ = try mine.send(Array(word.utf8)) }
    mine.endSending()
    // end
    isOver.wait()
    try worker.end()
    return received.withLock { $0 }
  }

  private static func queueName(of process: pid_t) -> String { "/threading-guide-\(process)" }

  /// In a process of its own: tells the one that has started it how it goes.
  static func report() throws {
    let name = queueName(of: getppid())
    // snippet: sending
    let queue = try NamedMessageQueue(name, for: .sending)
    _ = try queue.send(Array("half of it is done".utf8))
    _ = try queue.send(Array("the disk is full".utf8), priority: 9)
    // end
  }

  /// What a child process has told; nil if the system has no message queues.
  static func hearChild() throws -> [String]? {
    let name = queueName(of: getpid())
    var made: NamedMessageQueue?
    let leftover: Leftover
    do {
      leftover = try Leftover {
        try? NamedMessageQueue.remove(name)
      } making: {
        made = try NamedMessageQueue(name, for: .receiving, making: .always)
      }
    } catch {
      return nil
    }
    defer { leftover.remove() }
    guard let queue = made else { return nil }
    let child = try ChildProcess.run("reporter", of: Self.self)
    guard child.status == 0 else { return [child.errors] }
    var texts: [String] = []
    // snippet: receiving
    while case .message(let message) = try queue.receive(until: .now) {
      texts.append(String(decoding: message.bytes, as: UTF8.self))
    }
    // end
    return texts
  }
}
