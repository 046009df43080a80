import Glibc
import TestSupport

/// A pipe whose ends are closed with it.
final class Pipe: Sendable {
  let reader: CInt
  let writer: CInt
  private let openEnds = Shared([true, true])

  init() {
    var ends: [CInt] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { fatalError("pipe failed with errno \(errno)") }
    reader = ends[0]
    writer = ends[1]
    _ = fcntl(reader, F_SETFL, O_NONBLOCK)
    _ = fcntl(writer, F_SETFL, O_NONBLOCK)
  }

  func write() {
    var byte: UInt8 = 1
    _ = unsafe Glibc.write(writer, &byte, 1)
  }

  func closeReader() { closeEnd(0, reader) }
  func closeWriter() { closeEnd(1, writer) }

  private func closeEnd(_ index: Int, _ descriptor: CInt) {
    if openEnds.change({ ends in
      defer { ends[index] = false }
      return ends[index]
    }) {
      close(descriptor)
    }
  }

  deinit {
    closeReader()
    closeWriter()
  }
}

/// Two connected sockets.
final class SocketPair: Sendable {
  let first: CInt
  let second: CInt
  private let secondIsOpen = Shared(true)

  init() {
    var ends: [CInt] = [0, 0]
    let code = unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
    guard code == 0 else { fatalError("socketpair failed with errno \(errno)") }
    first = ends[0]
    second = ends[1]
  }

  func write(to descriptor: CInt) {
    var byte: UInt8 = 1
    _ = unsafe Glibc.write(descriptor, &byte, 1)
  }

  func closeSecond() {
    if secondIsOpen.change({ isOpen in
      defer { isOpen = false }
      return isOpen
    }) {
      close(second)
    }
  }

  deinit {
    close(first)
    closeSecond()
  }
}

/// Reads one byte, if there is one.
func readByte(_ descriptor: CInt) -> UInt8? {
  var byte: UInt8 = 0
  return unsafe read(descriptor, &byte, 1) == 1 ? byte : nil
}
