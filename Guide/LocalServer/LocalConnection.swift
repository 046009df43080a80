import Glibc
import Threading

/// One connection of a ``LocalServer``: reads a request, has it answered, sends the answer, and ends.
// SAFETY of @unchecked: the variables are used on the server's thread alone.
final class LocalConnection: @unchecked Sendable {
  private let socket: Descriptor
  private let loop: ThreadRunLoop
  private let connections: AtomicCounter
  private let sentBytes: AtomicCounter
  private let handler: @Sendable (LocalRequest) -> Void

  private var received: [UInt8] = []
  private var isAsked = false
  private var isAnswered = false
  private var unsent: ArraySlice<UInt8> = []
  private var source: DescriptorSource?
  private var timer: ThreadTimer?

  /// The longest request that is read, and the size of a piece of what is sent slowly.
  private static let longestRequest = 16_384
  private static let pieceSize = 8_192

  init(
    _ socket: Descriptor, on loop: ThreadRunLoop, connections: AtomicCounter,
    sentBytes: AtomicCounter, _ handler: @escaping @Sendable (LocalRequest) -> Void
  ) {
    self.socket = socket
    self.loop = loop
    self.connections = connections
    self.sentBytes = sentBytes
    self.handler = handler
  }

  /// Waits for the request. The loop keeps the connection from now on.
  ///
  /// A loop watches a descriptor once, so one source is for both directions; told of changes alone, it is
  /// quiet while there is nothing to send.
  func open() {
    let source = DescriptorSource(
      socket.number, for: [.readable, .writable], trigger: .edge
    ) { [self] _, _ in
      receive()
      flush()
    }
    self.source = source
    connections.increment()
    do { try loop.add(source) } catch { close() }
  }

  private func close() {
    guard let source else { return }
    self.source = nil
    source.cancel()
    timer?.cancel()
    connections.decrement()
  }

  // MARK: The request

  /// Reads what is there.
  private func receive() {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    while source != nil {
      let number = unsafe recv(socket.number, &bytes, bytes.count, 0)
      let code = number < 0 ? errno : 0
      if code == EINTR { continue }
      if code == EAGAIN { return }
      // The other side has the answer, or does not want it any more.
      guard number > 0 else { return close() }
      if isAsked { continue }
      received += bytes.prefix(number)
      askIfComplete()
      if !isAsked && received.count > Self.longestRequest { close() }
    }
  }

  private func askIfComplete() {
    guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
    isAsked = true
    let text = String(decoding: received[..<end.lowerBound], as: UTF8.self)
    let words = text.prefix { $0 != "\r\n" }.split(separator: " ")
    guard words.count == 3, words[0] == "GET" else { return send(.status(400)) }
    handler(
      LocalRequest(page: String(words[1].drop { $0 == "/" })) { [self] answer in
        loop.perform { self.send(answer) }
      })
  }

  // MARK: The answer

  private func send(_ answer: LocalRequest.Answer) {
    guard source != nil, !isAnswered else { return }
    isAnswered = true
    switch answer {
    case .page(let body, let type):
      send(Self.head(200, type, length: body.count) + body)
    case .slowly(let body, let type):
      send(Self.head(200, type, length: body.count), then: body[...])
    case .endless:
      send(Self.head(200, "application/octet-stream", length: nil), then: nil)
    case .status(let status):
      send(Self.head(status, "text/plain", length: 0))
    }
  }

  private static func head(_ status: Int, _ type: String, length: Int?) -> [UInt8] {
    let name = [200: "OK", 400: "Bad Request", 404: "Not Found"][status] ?? "Status"
    let lengthLine = length.map { "Content-Length: \($0)\r\n" } ?? ""
    return Array(
      "HTTP/1.1 \(status) \(name)\r\nContent-Type: \(type)\r\n\(lengthLine)Connection: close\r\n\r\n"
        .utf8)
  }

  /// Sends pieces by and by: those of `body`, or without one, zeros without end.
  private func send(_ head: [UInt8], then body: ArraySlice<UInt8>?) {
    write(head)
    let rest = Locked(body)
    do {
      let timer = try ThreadTimer(every: .milliseconds(4)) { [self] firing in
        guard unsent.isEmpty else { return }
        let (piece, isLast) = rest.withLock { rest -> (ArraySlice<UInt8>, Bool) in
          guard let body = rest else { return (Self.zeros, false) }
          rest = body.dropFirst(Self.pieceSize)
          return (body.prefix(Self.pieceSize), body.count <= Self.pieceSize)
        }
        write(piece)
        if isLast {
          firing.timer.cancel()
          finish()
        }
      }
      self.timer = timer
      try loop.add(timer)
    } catch {
      close()
    }
  }

  private static let zeros = ArraySlice([UInt8](repeating: 0, count: pieceSize))

  private func send(_ bytes: [UInt8]) {
    write(bytes)
    finish()
  }

  private func write(_ bytes: some Collection<UInt8>) {
    unsent += bytes
    flush()
  }

  private var isLast = false

  /// Says that nothing more comes. The other side closes when it has all.
  private func finish() {
    isLast = true
    flush()
  }

  /// Sends what the socket takes; the rest when it takes more.
  private func flush() {
    while source != nil, !unsent.isEmpty {
      var code: CInt = 0
      let number = unsafe unsent.withUnsafeBytes { bytes in
        let number = unsafe Glibc.send(
          socket.number, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
        if number < 0 { code = errno }
        return number
      }
      switch code {
      case 0:
        unsent = unsent.dropFirst(number)
        sentBytes.increment(by: number)
      case EAGAIN: return
      case EINTR: continue
      default: return close()
      }
    }
    if isLast, source != nil { shutdown(socket.number, CInt(SHUT_WR)) }
  }
}
