internal import CThreadingPlatform
internal import Glibc

/// Messages between processes: the only code of the package that calls `mq_overview(7)` and
/// `unix(7)`.
package enum SystemMessages {
  /// What became of a message.
  package enum Sending: Sendable {
    case sent
    /// No room at the moment.
    case full
    /// The other side has gone.
    case gone
  }

  /// What a look for a message came to.
  package enum Receiving: Sendable {
    case message(bytes: [UInt8], priority: UInt32)
    /// A message that was longer than allowed, and is lost.
    case tooLong(Int)
    case nothingYet
    /// The other side has gone, and all it has sent was received.
    case gone
  }

  // MARK: Queues with names

  package struct Limits: Sendable {
    package let capacity: Int
    package let size: Int
    package let count: Int
  }

  /// How to open a queue.
  package struct Opening: Sendable {
    package let reads: Bool
    package let writes: Bool
    /// Whether it is made if it is not there.
    package let makes: Bool
    /// Whether it is refused if it is there.
    package let isNew: Bool
    package let permissions: UInt32
    package let capacity: Int
    package let size: Int

    package init(
      reads: Bool, writes: Bool, makes: Bool, isNew: Bool, permissions: UInt32, capacity: Int,
      size: Int
    ) {
      self.reads = reads
      self.writes = writes
      self.makes = makes
      self.isNew = isNew
      self.permissions = permissions
      self.capacity = capacity
      self.size = size
    }
  }

  package static func openQueue(
    _ name: String, _ opening: Opening
  ) throws(ThreadingError) -> CInt {
    var flags = opening.reads ? (opening.writes ? O_RDWR : O_RDONLY) : O_WRONLY
    if opening.makes { flags |= O_CREAT }
    if opening.isNew { flags |= O_EXCL }
    let queue = unsafe ctp_mq_open(
      name, flags, mode_t(opening.permissions), opening.capacity, opening.size)
    guard queue >= 0 else { throw refusal("mq_open", -queue, name) }
    return queue
  }

  private static func refusal(_ call: String, _ code: CInt, _ name: String) -> ThreadingError {
    let reason: String
    switch code {
    case ENOENT: reason = "there is no queue of that name"
    case EEXIST: reason = "there is a queue of that name already"
    case EACCES: reason = "it belongs to somebody else, or the name has a slash after the first"
    case EINVAL:
      reason =
        "the name is not a slash and a word, or the capacity or the size of messages is beyond the "
        + "system's limits (fs.mqueue.msg_max, fs.mqueue.msgsize_max)"
    case ENAMETOOLONG: reason = "the name is longer than 255 bytes"
    case ENOSPC: reason = "there are too many queues (fs.mqueue.queues_max)"
    case EMFILE, ENFILE: return .descriptorRefused(call, code)
    default: reason = unsafe String(cString: strerror(code))
    }
    return ThreadingError(call: call, code: code, message: "message queue \"\(name)\": \(reason)")
  }

  package static func removeQueue(_ name: String) throws(ThreadingError) {
    let code = unsafe ctp_mq_unlink(name)
    guard code == 0 else { throw refusal("mq_unlink", code, name) }
  }

  package static func limits(of queue: CInt) -> Limits {
    var capacity = 0
    var size = 0
    var count = 0
    let code = unsafe ctp_mq_limits(queue, &capacity, &size, &count)
    require(code == 0, "SystemMessages.limits: mq_getattr failed with errno \(code)")
    return Limits(capacity: capacity, size: size, count: count)
  }

  package static func sendToQueue(
    _ queue: CInt, _ bytes: [UInt8], priority: UInt32
  ) throws(ThreadingError) -> Sending {
    while true {
      let code = unsafe bytes.withUnsafeBytes { buffer in
        unsafe withBase(of: buffer) { unsafe ctp_mq_send(queue, $0, buffer.count, priority) }
      }
      switch code {
      case 0: return .sent
      case EAGAIN: return .full
      case EINTR: continue
      case EBADF:
        throw ThreadingError(
          call: "mq_send", code: code, message: "the queue was opened for receiving only")
      default: throw .refused("mq_send", code)
      }
    }
  }

  package static func receiveFromQueue(
    _ queue: CInt, maximumSize: Int
  ) throws(ThreadingError) -> Receiving {
    var priority: UInt32 = 0
    let (bytes, size) = unsafe receive(maximumSize) { buffer, room in
      unsafe ctp_mq_receive(queue, buffer, room, &priority)
    }
    switch size {
    case 0...: return .message(bytes: bytes, priority: priority)
    case -Int(EAGAIN): return .nothingYet
    case -Int(EBADF):
      throw ThreadingError(
        call: "mq_receive", code: EBADF, message: "the queue was opened for sending only")
    default: throw .refused("mq_receive", CInt(-size))
    }
  }

  // MARK: Sockets

  package static func makeSocketPair() throws(ThreadingError) -> (CInt, CInt) {
    var ends: [CInt] = [-1, -1]
    let code = unsafe ctp_message_sockets(&ends)
    guard code == 0 else { throw .descriptorRefused("socketpair", code) }
    return (ends[0], ends[1])
  }

  /// Checks that a descriptor is a socket that keeps the bounds of messages, and makes it
  /// non-blocking.
  package static func adoptSocket(_ descriptor: CInt) throws(ThreadingError) {
    var kind: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size)
    guard code == 0 else {
      throw ThreadingError(
        call: "getsockopt", code: errno, message: "descriptor \(descriptor) is no open socket")
    }
    guard kind == CInt(SOCK_SEQPACKET.rawValue) else {
      throw ThreadingError(
        call: "getsockopt", code: EPROTOTYPE,
        message: "descriptor \(descriptor) is a socket of type \(kind), which does not keep the "
          + "bounds of messages; SOCK_SEQPACKET is needed")
    }
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else {
      throw .refused("fcntl", errno)
    }
  }

  package static func sendToSocket(
    _ socket: CInt, _ bytes: [UInt8]
  ) throws(ThreadingError) -> Sending {
    while true {
      let code = unsafe bytes.withUnsafeBytes { buffer in
        unsafe withBase(of: buffer) { unsafe ctp_socket_send(socket, $0, buffer.count) }
      }
      switch code {
      case 0: return .sent
      case EAGAIN, ENOBUFS: return .full
      case EPIPE, ECONNRESET, ENOTCONN: return .gone
      case EINTR: continue
      case EMSGSIZE:
        throw ThreadingError(
          call: "send", code: code,
          message: "a message of \(bytes.count) bytes is longer than the socket's buffer allows")
      default: throw .refused("send", code)
      }
    }
  }

  package static func receiveFromSocket(
    _ socket: CInt, maximumSize: Int
  ) throws(ThreadingError) -> Receiving {
    let (bytes, size) = unsafe receive(maximumSize) { buffer, room in
      let size = unsafe ctp_socket_receive(socket, buffer, room)
      // Told once, when the other end has closed without receiving all: what it had sent is there still.
      return size == -Int(ECONNRESET) ? unsafe ctp_socket_receive(socket, buffer, room) : size
    }
    switch size {
    case 0, -Int(ECONNRESET): return .gone
    case 1...maximumSize: return .message(bytes: bytes, priority: 0)
    case maximumSize...: return .tooLong(size)
    case -Int(EAGAIN): return .nothingYet
    default: throw .refused("recv", CInt(-size))
    }
  }

  /// Says that nothing more will be sent.
  package static func endSending(_ socket: CInt) { _ = shutdown(socket, CInt(SHUT_WR)) }

  // MARK: Both

  /// Waits until a descriptor can be read or written, the other side has gone, or a moment.
  ///
  /// - Returns: false when the moment came first.
  package static func wait(
    _ descriptor: CInt, forRoom: Bool, until deadline: MonotonicInstant
  ) -> Bool {
    let events = Int16(forRoom ? POLLOUT : POLLIN)
    while true {
      let ready: CInt
      if deadline == .distantFuture {
        ready = ctp_poll_one(descriptor, events, nil)
      } else {
        let left = max(.zero, MonotonicInstant.now.duration(to: deadline))
        var timeout = MonotonicInstant(nanoseconds: left.saturatedNanoseconds).timespec
        ready = unsafe ctp_poll_one(descriptor, events, &timeout)
      }
      if ready > 0 { return true }
      if ready == 0, .now >= deadline { return false }
      require(ready == 0 || ready == -EINTR, "SystemMessages.wait: poll failed with \(-ready)")
    }
  }

  /// Another number for what a descriptor stands for.
  package static func duplicate(_ descriptor: CInt) throws(ThreadingError) -> CInt {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw .descriptorRefused("fcntl", errno) }
    return copy
  }

  package static func close(_ descriptor: CInt) { _ = Glibc.close(descriptor) }

  private static func receive(
    _ room: Int, _ call: (UnsafeMutableRawPointer, Int) -> Int
  ) -> (bytes: [UInt8], size: Int) {
    unsafe withUnsafeTemporaryAllocation(byteCount: max(1, room), alignment: 8) { buffer in
      var size: Int
      repeat { size = unsafe call(buffer.baseAddress!, room) } while size == -Int(EINTR)
      guard size > 0 else { return ([], size) }
      return unsafe ([UInt8](buffer[..<min(size, room)]), size)
    }
  }

  /// The address of a buffer's bytes, which an empty one may lack.
  private static func withBase<Result>(
    of buffer: UnsafeRawBufferPointer, _ body: (UnsafeRawPointer) -> Result
  ) -> Result {
    if let base = buffer.baseAddress { return unsafe body(base) }
    var nothing: UInt8 = 0
    return unsafe withUnsafeBytes(of: &nothing) { unsafe body($0.baseAddress!) }
  }
}
