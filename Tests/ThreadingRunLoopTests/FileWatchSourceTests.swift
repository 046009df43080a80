import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

@Suite("FileWatchSource", .endsInTime)
struct FileWatchSourceTests {
  typealias Kind = FileWatchSource.Event.Kind

  @Test("what happens to the entries of a folder wakes a sleeping loop, in order")
  func folder() throws {
    let folder = TemporaryFolder()
    let watched = try Watched(folder.path)
    defer { watched.end() }
    #expect(watched.thread.waitUntilAsleep())
    folder.write("a", "one")
    folder.write("a", "two")
    folder.remove("a")
    let events = watched.wait { $0.last?.kind == .deleted }
    #expect(events.allSatisfy { $0.path == folder.path && $0.name == "a" && !$0.isFolder })
    // Two neighbours that are alike are merged by the system, depending on how quick the loop is.
    var kinds: [Kind] = []
    for event in events where event.kind != kinds.last { kinds.append(event.kind) }
    #expect(kinds == [.created, .modified, .written, .modified, .written, .deleted])
  }

  @Test("the two sides of a move have one link; a folder is told from a file")
  func moves() throws {
    let folder = TemporaryFolder()
    folder.makeFolder("from")
    folder.makeFolder("to")
    folder.write("from/a", "one")
    let watched = try Watched(folder.path + "/from", for: .moved)
    defer { watched.end() }
    try watched.source.watch(folder.path + "/to", for: [.moved, .created])
    #expect(watched.source.paths == [folder.path + "/from", folder.path + "/to"])
    folder.rename("from/a", "to/b")
    folder.makeFolder("to/c")
    let events = watched.wait { $0.count >= 3 }
    guard case .movedAway(let link) = events[0].kind else {
      Issue.record("\(events)")
      return
    }
    #expect(events.map(\.kind) == [.movedAway(link: link), .movedHere(link: link), .created])
    #expect(events.map(\.name) == ["a", "b", "c"])
    #expect(events.map(\.isFolder) == [false, false, true])
  }

  @Test("a watched file that is deleted, or moved, is told of as itself, and ends")
  func itself() throws {
    let folder = TemporaryFolder()
    folder.write("a", "one")
    let watched = try Watched(folder.path + "/a", for: [.deleted, .moved, .modified])
    defer { watched.end() }
    folder.rename("a", "b")
    // Watched on: the watch is of the file, not of the name.
    folder.write("b", "two")
    folder.remove("b")
    let events = watched.wait { $0.last?.kind == .ended }
    var kinds: [Kind] = []
    for event in events where event.kind != kinds.last { kinds.append(event.kind) }
    #expect(kinds == [.moved, .modified, .deleted, .ended])
    #expect(events.allSatisfy { $0.name == nil && $0.path == folder.path + "/a" })
    #expect(watched.source.paths.isEmpty)
  }

  @Test("only what is asked for is told; what is unwatched is told of no more, and others are")
  func selection() throws {
    let folder = TemporaryFolder()
    folder.makeFolder("one")
    folder.makeFolder("two")
    let watched = try Watched(folder.path + "/one", for: .created)
    defer { watched.end() }
    try watched.source.watch(folder.path + "/two", for: .created)
    folder.write("one/a", "x")
    _ = watched.wait { $0.count == 1 }
    #expect(watched.source.unwatch(folder.path + "/one"))
    _ = watched.wait { $0.last?.kind == .ended }
    folder.write("one/b", "x")
    folder.write("two/c", "x")
    let events = watched.wait { $0.last?.name == "c" }
    #expect(events.map(\.kind) == [.created, .ended, .created])
    #expect(!watched.source.unwatch(folder.path + "/one"))
  }

  @Test("unwatched, a path has no watch left, though another file was there before under its name")
  func unwatchedTwice() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/a"
    folder.write("a", "one")
    let watched = try Watched(path, for: [.modified, .moved])
    defer { watched.end() }
    folder.rename("a", "b")
    folder.write("a", "two")
    try watched.source.watch(path, for: [.modified, .moved])
    #expect(watched.source.unwatch(path))
    #expect(!watched.source.unwatch(path))
    let events = watched.wait { events in events.count { $0.kind == .ended } == 2 }
    #expect(events.allSatisfy { $0.path == path })
    #expect(watched.source.paths.isEmpty)
  }

  @Test("what happens before the source is added is not lost")
  func early() throws {
    let folder = TemporaryFolder()
    let seen = Shared<[FileWatchSource.Event]>([])
    let source = try FileWatchSource { _, events in seen.change { $0 += events } }
    try source.watch(folder.path, for: .created)
    folder.write("a", "one")
    try onOwnThread {
      try? ThreadRunLoop.current.add(source)
      ThreadRunLoop.current.run(mode: .default, until: .now.advanced(by: .seconds(30)))
      source.cancel()
    }
    #expect(seen.value.map(\.name) == ["a"])
  }

  @Test("more than the system keeps is told of as an overflow")
  func overflow() throws {
    let folder = TemporaryFolder()
    let thread = try LoopThread()
    defer { thread.end() }
    let overflows = Shared(0)
    let source = try FileWatchSource { _, events in
      for event in events where event.kind == .overflow {
        overflows.change { $0 += event.path.isEmpty ? 1 : 2 }
      }
    }
    try source.watch(folder.path, for: .moved)
    folder.write("a", "x")
    let limit = Int(SystemFile.text(of: "/proc/sys/fs/inotify/max_queued_events")?.dropLast() ?? "")
    let most = try #require(limit)
    // Two events each, none of which is like its neighbour.
    for round in 0..<most / 2 + 2 {
      folder.rename(round % 2 == 0 ? "a" : "b", round % 2 == 0 ? "b" : "a")
    }
    try thread.loop.add(source)
    overflows.waitUntil { $0 > 0 }
    #expect(overflows.value == 1)
  }

  @Test("paths that cannot be watched are refused with the reason")
  func refused() throws {
    let source = try FileWatchSource { _, _ in }
    var codes: [String] = []
    for (path, changes) in [
      ("/nowhere/at/all", .created), ("/proc/version/x", .created), ("/tmp", []),
    ] as [(String, FileWatchSource.Changes)] {
      do throws(ThreadingError) {
        try source.watch(path, for: changes)
      } catch {
        #expect(error.message.contains(path))
        codes.append(error.codeName)
      }
    }
    #expect(codes == ["ENOENT", "ENOTDIR", "EINVAL"])
    #expect(source.paths.isEmpty)
  }

  @Test("out of descriptors, making a source says so")
  func outOfDescriptors() async {
    await #expect(processExitsWith: .success) {
      var none = rlimit(rlim_cur: 0, rlim_max: 0)
      _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
      do throws(ThreadingError) {
        _ = try FileWatchSource { _, _ in }
        fatalError("it was not refused")
      } catch {
        precondition(error.codeName == "EMFILE" && error.message.contains("limit"), "\(error)")
      }
    }
  }

  @Test("cancelled, it calls no more and its descriptor goes with it")
  func cancelled() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryFolder()
      // A forked child has one thread: nobody else opens descriptors there.
      let status = inForkedChild {
        func once() {
          guard let source = try? FileWatchSource(handler: { _, _ in fatalError("called") }) else {
            return
          }
          try? source.watch(folder.path)
          try? ThreadRunLoop.current.add(source, in: [ownMode])
          folder.write("a", "x")
          source.cancel()
          ThreadRunLoop.current.poll(mode: ownMode)
        }
        once()
        let before = ProcessFigures.now().descriptors
        for _ in 0..<10 { once() }
        return ProcessFigures.now().descriptors == before
      }
      precondition(status == 0, "\(status)")
    }
  }
}

/// A source on a loop of its own that keeps what it is told.
private final class Watched: Sendable {
  let thread: LoopThread
  let source: FileWatchSource
  private let events: Shared<[FileWatchSource.Event]>

  init(_ path: String, for changes: FileWatchSource.Changes = .all) throws {
    let events = Shared<[FileWatchSource.Event]>([])
    self.events = events
    source = try FileWatchSource { _, new in events.change { $0 += new } }
    // The folder's own times change with its entries.
    try source.watch(path, for: changes.subtracting(.attributes))
    thread = try LoopThread()
    try thread.loop.add(source)
  }

  func wait(until isEnough: ([FileWatchSource.Event]) -> Bool) -> [FileWatchSource.Event] {
    events.wait { isEnough($0) ? $0 : nil }
  }

  func end() { thread.end() }
}

/// A folder that is removed with the object, and what is in it.
final class TemporaryFolder: Sendable {
  let path: String

  init() {
    var template = Array("/tmp/threading-tests-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { fatalError("no folder: errno \(errno)") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { Self.removeAll(path) }

  func write(_ name: String, _ text: String) {
    let file = unsafe open(path + "/" + name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { fatalError("\(name) cannot be opened: errno \(errno)") }
    _ = unsafe Glibc.write(file, text, text.utf8.count)
    close(file)
  }

  func makeFolder(_ name: String) { _ = unsafe mkdir(path + "/" + name, 0o700) }
  func remove(_ name: String) { _ = unsafe unlink(path + "/" + name) }

  func rename(_ old: String, _ new: String) {
    _ = unsafe Glibc.rename(path + "/" + old, path + "/" + new)
  }

  private static func removeAll(_ path: String) {
    if let folder = unsafe opendir(path) {
      while let entry = unsafe readdir(folder) {
        let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
          unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != "." && name != ".." { removeAll(path + "/" + name) }
      }
      _ = unsafe closedir(folder)
    }
    _ = unsafe Glibc.remove(path)
  }
}
