import Foundation
import TestSupport
import Testing
import Threading

@testable import guide

/// The web server of the chapters, spoken to byte by byte.
@Suite("The chapters' web server", .endsInTime)
struct LocalServerTests {
  /// A client that writes and reads as a test wants.
  private final class Client {
    private let socket: Descriptor

    init(_ server: LocalServer) throws {
      socket = Descriptor(Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = server.port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let code = unsafe withUnsafePointer(to: address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe connect(socket.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      try #require(code == 0)
    }

    func write(_ text: String) { #expect(socket.write(text)) }

    /// What comes until the server has nothing more to say.
    func readAll() -> String {
      var all: [UInt8] = []
      var bytes = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = unsafe recv(socket.number, &bytes, bytes.count, 0)
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { return String(decoding: all, as: UTF8.self) }
        all += bytes.prefix(count)
      }
    }
  }

  private func lines(_ answer: String) -> [String] {
    answer.components(separatedBy: "\r\n")
  }

  @Test("a request that comes in pieces is answered when it is complete")
  func pieces() throws {
    let asked = Locked<[String]>([])
    let server = try LocalServer { request in
      asked.withLock { $0.append(request.page) }
      request.answer(.page(Array("hello".utf8), type: "text/plain"))
    }
    let client = try Client(server)
    for piece in ["GET /a", "/b?c HT", "TP/1.1\r\nHost: x\r", "\n\r", "\n"] { client.write(piece) }
    let answer = lines(client.readAll())
    #expect(answer.first == "HTTP/1.1 200 OK")
    #expect(answer.contains("Content-Length: 5"))
    #expect(answer.last == "hello")
    #expect(asked.withLock { $0 } == ["a/b?c"])
    try server.end()
  }

  @Test(
    "what is no request for a page is refused", arguments: ["POST / HTTP/1.1", "hello", "GET /"])
  func refusals(request: String) throws {
    let server = try LocalServer { _ in Issue.record("it was taken for a request") }
    let client = try Client(server)
    client.write(request + "\r\n\r\n")
    #expect(lines(client.readAll()).first == "HTTP/1.1 400 Bad Request")
    try server.end()
  }

  @Test("a request without an end is cut off")
  func tooLong() throws {
    let server = try LocalServer { _ in Issue.record("it was taken for a request") }
    let client = try Client(server)
    client.write("GET /" + String(repeating: "a", count: 16_384))
    #expect(client.readAll() == "")
    try server.end()
  }

  @Test("a page that is larger than sockets hold arrives whole")
  func large() throws {
    var body = [UInt8](repeating: 65, count: 40_000_000)
    for index in stride(from: 0, to: body.count, by: 1_000) { body[index] = 66 }
    let server = try LocalServer { [body] in $0.answer(.page(body, type: "text/plain")) }
    let client = try Client(server)
    client.write("GET / HTTP/1.1\r\n\r\n")
    // It has more to send, and nobody reads.
    let isFull = eventually {
      let before = server.sentBytes.value
      return before > 0 && before < body.count
    }
    #expect(isFull)
    let answer = Array(client.readAll().utf8)
    #expect(answer.suffix(body.count).elementsEqual(body))
    #expect(answer.count == server.sentBytes.value)
    try server.end()
  }

  @Test("an answer may come later, and a second one changes nothing")
  func later() throws {
    let kept = Locked<LocalRequest?>(nil)
    let server = try LocalServer { request in kept.withLock { $0 = request } }
    let client = try Client(server)
    client.write("GET / HTTP/1.1\r\n\r\n")
    let request = kept.withLock(when: { $0 != nil }, for: .seconds(20)) { $0 }
    request??.answer(.slowly(Array("late".utf8), type: "text/plain"))
    request??.answer(.status(404))
    #expect(lines(client.readAll()).last == "late")
    try server.end()
  }

  @Test("a client that goes in the middle is forgotten, and the server goes on")
  func gone() throws {
    let server = try LocalServer { $0.answer($0.page == "endless" ? .endless : .status(404)) }
    do {
      let client = try Client(server)
      client.write("GET /endless HTTP/1.1\r\n\r\n")
      _ = server.connections.wait { $0 == 1 }
    }
    #expect(server.connections.wait(for: .seconds(20)) { $0 == 0 } != nil)
    let client = try Client(server)
    client.write("GET / HTTP/1.1\r\n\r\n")
    #expect(lines(client.readAll()).first == "HTTP/1.1 404 Not Found")
    try server.end()
  }

  @Test("a port that is in use is told")
  func portInUse() throws {
    let server = try LocalServer { _ in }
    let failure = #expect(throws: ChapterFailure.self) {
      _ = try LocalServer(port: server.port) { _ in }
    }
    #expect(
      failure
        == ChapterFailure(
          "cannot listen on port \(server.port): Address already in use", .system))
    try server.end()
  }
}
