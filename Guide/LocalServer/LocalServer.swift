import Glibc
import Threading

/// A web server for the chapters that fetch something. It listens on this machine alone, and has each
/// request answered by a function.
///
/// One thread serves all connections: it runs a loop with a source for each socket.
final class LocalServer: Sendable {
  /// Where it listens.
  let port: UInt16

  /// How many connections are open.
  let connections = AtomicCounter()

  /// How many bytes it has sent.
  let sentBytes = AtomicCounter()

  private let thread: LoopChapter.LoopThread

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - port: where to listen; 0 for a port that is free.
  ///   - answer: called on the server's thread for each request. It may answer at once, or keep the
  ///     request and answer later.
  /// - Throws: `ChapterFailure` if the port is in use, or the machine has no network of its own.
  init(port: UInt16 = 0, answer: @escaping @Sendable (LocalRequest) -> Void) throws {
    let (listener, port) = try Self.listen(port)
    self.port = port
    thread = try LoopChapter.LoopThread(name: "server")
    try thread.loop.add(
      DescriptorSource(listener.number, for: .readable) {
        [loop = thread.loop, connections, sentBytes] _, _ in
        let socket = accept(listener.number, nil, nil)
        guard socket >= 0 else { return }  // whoever asked has gone
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        LocalConnection(
          Descriptor(socket), on: loop, connections: connections, sentBytes: sentBytes, answer
        ).open()
      })
  }

  /// The address of a page.
  func address(_ page: String) -> String { "http://127.0.0.1:\(port)/\(page)" }

  /// Closes all connections, and waits for the server's end.
  func end() throws { try thread.end() }

  private static func listen(_ port: UInt16) throws(ChapterFailure) -> (Descriptor, UInt16) {
    let failure = { (code: CInt) in
      ChapterFailure(
        "cannot listen on port \(port): \(unsafe String(cString: strerror(code)))", .system)
    }
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let listener = Descriptor(socket(AF_INET, kind, 0))
    guard listener.number >= 0 else { throw failure(errno) }
    // Connections of an earlier run may linger; a server that listens still keeps the port.
    var yes: CInt = 1
    var length = socklen_t(MemoryLayout<CInt>.size)
    unsafe setsockopt(listener.number, SOL_SOCKET, SO_REUSEADDR, &yes, length)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian  // 127.0.0.1
    length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard unsafe bind(listener.number, address, length) == 0,
          Glibc.listen(listener.number, 64) == 0,
          unsafe getsockname(listener.number, address, &length) == 0
        else { return errno }
        return 0
      }
    }
    guard code == 0 else { throw failure(code) }
    // A machine whose own network is down lets a server listen, but nobody reach it. For a socket of this
    // kind, to connect is to look up the way, and nothing is sent.
    let asker = Descriptor(socket(AF_INET, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    let wayCode = unsafe withUnsafePointer(to: address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(asker.number, $0, length) == 0 ? 0 : errno
      }
    }
    guard wayCode == 0 else {
      let reason = unsafe String(cString: strerror(wayCode))
      throw ChapterFailure("there is no way to 127.0.0.1, this machine itself: \(reason)", .system)
    }
    return (listener, UInt16(bigEndian: address.sin_port))
  }
}
