import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("LineSource", .endsInTime)
struct LineSourceTests {
  @Test(
    "lines end with LF or CR LF, the last one with the data; what comes in pieces is put together")
  func lines() throws {
    let text = "first\nsecond\r\n\nvier\r und\r\n\r\nlast"
    for pieceSize in [1, 3, 100] {
      let (lines, reason) = try onOwnThread {
        let loop = ThreadRunLoop.current
        let pipe = Pipe()
        let lines = Shared<[String]>([])
        try? loop.add(
          LineSource(pipe.reader) { _, event in
            switch event {
            case .line(let line): lines.append(line.text)
            case .end: lines.append("<end>")
            case .failed(let error): lines.append("<\(error)>")
            }
          })
        let bytes = Shared(Array(text.utf8))
        try? loop.add(
          ThreadTimer(every: .zero) { firing in
            let piece = bytes.change { rest in
              defer { rest.removeFirst(min(pieceSize, rest.count)) }
              return Array(rest.prefix(pieceSize))
            }
            _ = unsafe write(pipe.writer, piece, piece.count)
            if piece.isEmpty {
              pipe.closeWriter()
              firing.timer.cancel()
            }
          })
        let reason = loop.run()
        return (lines.value, reason)
      }
      #expect(lines == ["first", "second", "", "vier\r und", "", "last", "<end>"])
      #expect(reason == ThreadRunLoop.ExitReason.finished)
    }
  }

  @Test("a regular file is read a piece in each pass, beside other work")
  func file() throws {
    let (count, bytes, others) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let path = "/tmp/threading-lines-\(getpid())-\(SystemThread.currentID)"
      let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
      defer {
        close(descriptor)
        unsafe unlink(path)
      }
      let content = (0..<20_000).map { "line \($0)\n" }.joined()
      #expect(unsafe write(descriptor, content, content.utf8.count) == content.utf8.count)
      lseek(descriptor, 0, SEEK_SET)
      let (count, bytes, others) = (Shared(0), Shared(0), Shared(0))
      let timer = try? ThreadTimer(every: .zero) { _ in others.change { $0 += 1 } }
      try? loop.add(
        LineSource(descriptor) { _, event in
          switch event {
          case .line(let line):
            count.change { $0 += 1 }
            bytes.change { $0 += line.bytes.count + 1 }
          case .end, .failed: timer?.cancel()
          }
        })
      try? loop.add(timer!)
      loop.run()
      return (count.value, bytes.value - content.utf8.count, others.value)
    }
    #expect(count == 20_000)
    #expect(bytes == 0)
    #expect(others > 10)
  }

  @Test("a line that is too long, and a descriptor that cannot be read, are the last event")
  func failures() throws {
    let codes = try onOwnThread { () -> [String] in
      let loop = ThreadRunLoop.current
      let pipe = Pipe()
      let codes = Shared<[String]>([])
      let handler: LineSource.Handler = { source, event in
        switch event {
        case .line(let line): codes.append(line.text)
        case .end: codes.append("end")
        case .failed(let error): codes.append(error.codeName)
        }
      }
      _ = unsafe write(pipe.writer, "1234\r\n12345\n1\n", 14)
      try? loop.add(LineSource(pipe.reader, maximumLength: 4, handler: handler))
      loop.run()
      let directory = unsafe open("/", O_RDONLY)
      defer { close(directory) }
      try? loop.add(LineSource(directory, handler: handler))
      loop.run()
      return codes.value
    }
    #expect(codes == ["1234", "EMSGSIZE", "EISDIR"])
  }

  @Test(
    "paused or cancelled in the middle of a piece, it hands over no more lines; the rest after the pause"
  )
  func pauseAndCancel() throws {
    let (lines, reason) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pipe = Pipe()
      let lines = Shared<[String]>([])
      let source = LineSource(pipe.reader) { source, event in
        guard case .line(let line) = event else { return }
        lines.append(line.text)
        if line.text == "2" { source.pause() }
        if line.text == "4" { source.cancel() }
      }
      _ = unsafe write(pipe.writer, "1\n2\n3\n4\n5\n", 10)
      try? loop.add(source)
      loop.run(for: .milliseconds(5))
      lines.append("pause")
      source.resume()
      let reason = loop.run(for: .seconds(50))
      return (lines.value, reason)
    }
    #expect(lines == ["1", "2", "pause", "3", "4"])
    #expect(reason == .finished)
  }

  @Test("a file is read on after a pause, though the piece before it held a single line")
  func pausedFile() throws {
    let log = try onOwnThread {
      let name: [CChar] = Array("/tmp/line-source-XXXXXX".utf8CString)
      let file = unsafe name.withUnsafeBufferPointer { name in
        let copy = unsafe strdup(name.baseAddress!)!
        defer { unsafe free(copy) }
        let file = unsafe mkstemp(copy)
        unsafe unlink(copy)
        return file
      }
      defer { close(file) }
      _ = unsafe write(file, "one\n", 4)
      lseek(file, 0, SEEK_SET)
      let loop = ThreadRunLoop.current
      let log = Shared<[String]>([])
      let source = LineSource(file) { source, event in
        log.append("\(event)")
        source.pause()
      }
      try? loop.add(source)
      loop.poll()
      try? loop.add(ThreadTimer(after: .milliseconds(5)) { _ in source.resume() })
      log.append("\(loop.run(for: .seconds(30)))")
      return log.value
    }
    #expect(log.count == 3 && log[1] == "end" && log[2] == "finished", "\(log)")
  }

  @Test("what is handed over leaves nothing behind that a later pass takes for an input")
  func nothingLeft() throws {
    let reasons = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pipe = Pipe()
      let source = LineSource(pipe.reader) { _, _ in }
      try? loop.add(source)
      _ = unsafe write(pipe.writer, "a\nb\nc\n", 6)
      let reasons = [loop.run(mode: .default), loop.poll(), loop.poll()]
      source.cancel()
      return reasons
    }
    #expect(reasons == [.handledSource, .timedOut, .timedOut])
  }

  @Test("a handler that runs its loop is handed the following lines in order")
  func nested() throws {
    let lines = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pipe = Pipe()
      let lines = Shared<[String]>([])
      try? loop.add(
        LineSource(pipe.reader) { source, event in
          guard case .line(let line) = event else { return }
          lines.append(line.text)
          if line.text == "1" {
            loop.run(mode: .default, until: .now.advanced(by: .seconds(20)))
            lines.append("back")
          }
          if line.text == "4" { pipe.closeWriter() }
        })
      _ = unsafe write(pipe.writer, "1\n2\n3\n4\n", 8)
      loop.run()
      return lines.value
    }
    #expect(lines.filter { $0 != "back" } == ["1", "2", "3", "4"])
    #expect(lines.contains("back"))
  }
}
