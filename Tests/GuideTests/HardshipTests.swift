import Foundation
import TestSupport
import Testing
import Threading

@testable import guide

/// The guide where the system gives less than usual: each time one line, a status, and nothing left behind.
@Suite("Where the system gives less", .serialized, .endsInTime)
struct HardshipTests {
  let folder: Folder

  init() throws {
    folder = try Folder()
  }

  private func refused(
    _ line: String, _ status: guide.ExitStatus, _ words: String...,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let ending = try GuideProcess.shell(line, in: folder)
    #expect(ending.status == status.rawValue, "\(line): \(ending)", sourceLocation: location)
    #expect(ending.errors.hasPrefix("guide: "), "\(ending)", sourceLocation: location)
    #expect(
      ending.errors.split(separator: "\n").count == 1, "\(ending)", sourceLocation: location)
    #expect(!ending.output.contains("WRONG"), "\(ending)", sourceLocation: location)
    for word in words {
      #expect(ending.errors.contains(word), "\(ending)", sourceLocation: location)
    }
  }

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
  }

  // MARK: Files

  @Test(
    "without a folder for temporary files, a chapter that needs one says which it is",
    arguments: [9, 13, 21, 22, 25])
  func noTemporaryFolder(number: Int) throws {
    try refused(
      "TMPDIR=/nowhere guide \(number)", .fileError,
      "guide: chapter \(number): cannot make a folder in /nowhere, which TMPDIR names: No such file"
    )
    try refused("TMPDIR=/proc guide \(number)", .fileError, "cannot make a folder in /proc")
  }

  @Test("what a chapter makes for its reader is in a folder of the user's own; all else is gone")
  func temporaryFiles() throws {
    for number in [9, 13, 20, 21, 22, 25] {
      let command = number == 20 ? "20 --solution 1" : "\(number)"
      let ending = try GuideProcess.shell("TMPDIR=. guide \(command)", in: folder)
      #expect(ending.status == 0, "\(ending)")
    }
    let own = "threading-guide-\(geteuid())"
    #expect(try names == [own])
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/\(own)").sorted()
        == ["blurred.bmp", "tiles.bmp", "trace.json"])
  }

  @Test("a folder that others can put something into is not taken for the user's own")
  func foreignFolder() throws {
    let own = "\(folder.path)/threading-guide-\(geteuid())"
    try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: false)
    try #require(unsafe chmod(own, 0o777) == 0)
    let ending = try GuideProcess.shell("TMPDIR=. guide 9", in: folder)
    #expect(ending.status == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: own).isEmpty)
    #expect(try names.count == 2)
  }

  @Test("a picture goes into a file that is a bitmap's by its name, and nowhere else")
  func pictureNames() throws {
    try refused("guide 21 p.png", .usage, "\"p.png\"", ".bmp")
    try refused("guide 21 p", .usage, ".bmp")
    try refused("mkfifo pipe.bmp; guide 21 pipe.bmp", .fileError, "a pipe has that name")
    try refused("mkdir folder.bmp; guide 21 folder.bmp", .fileError, "a folder has that name")
    try refused("ln -s x link.bmp; guide 21 link.bmp", .fileError, "a link has that name")
    try refused("guide 21 /dev/stdout", .fileError, "a link has that name")
    try refused("guide 21 /dev/null", .fileError, "a device has that name")
    #expect(try names == ["folder.bmp", "link.bmp", "pipe.bmp"])
  }

  @Test(
    "a file that could not be written whole is not there, and the one before is as it was",
    // The sanitizers need files of their own.
    .enabled(if: !ThreadSanitizer.isActive && !AllocatingSanitizer.isActive))
  func cutFiles() throws {
    try Data("before".utf8).write(to: URL(filePath: folder.path + "/p.bmp"))
    try refused("ulimit -f 100; guide 21 p.bmp", .fileError, "cannot write p.bmp: File too large")
    try refused("ulimit -f 100; guide 21 q.bmp", .fileError, "cannot write q.bmp: File too large")
    try refused(
      "ulimit -f 100; guide generate --stop-times 10000 feed", .fileError, "File too large")
    #expect(try names == ["p.bmp"])
    #expect(try InputFile.text(of: folder.path + "/p.bmp") == "before")
    do {
      let file = try OutputFile(path: folder.path + "/r")
      try file.write("begun")
    }
    #expect(try names == ["p.bmp"])
    #expect(try GuideProcess(["21", "p.bmp"], in: folder).end().status == 0)
    #expect(try InputFile.bytes(of: folder.path + "/p.bmp").starts(with: "BM".utf8))
    #expect(try names == ["p.bmp"])
  }

  @Test(
    "a signal that ends the program leaves nothing behind",
    arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  func signals(signal: CInt) throws {
    // Whoever runs the tests may have the signals ignored, which the program would inherit.
    let process = try GuideProcess(
      [
        "--default-signal=INT,TERM,HUP,QUIT", "TMPDIR=.", GuideProcess.executable.path, "22",
      ], in: folder, program: URL(filePath: "/usr/bin/env"))
    #expect(process.read(until: "== A small file"))
    #expect(try names.count == 1)
    process.signal(signal)
    #expect(try process.endBySignal() == signal)
    #expect(try names.isEmpty)
  }

  @Test("a signal that is ignored goes on being ignored")
  func ignoredSignal() throws {
    let process = try GuideProcess(
      ["--ignore-signal=HUP", "TMPDIR=.", GuideProcess.executable.path, "22"], in: folder,
      program: URL(filePath: "/usr/bin/env"))
    #expect(process.read(until: "== A small file"))
    process.signal(SIGHUP)
    #expect(try process.end().status == 0)
  }

  @Test("what is being removed is watched over until it is gone")
  func signalDuringRemoval() async throws {
    let path = folder.path + "/leftover"
    await #expect(processExitsWith: .signal(SIGTERM)) { [path = path as String] in
      try HardshipTests.endDuringRemoval(of: path)
    }
    #expect(try names.isEmpty)
  }

  fileprivate static func endDuringRemoval(of path: String) throws {
    signal(SIGTERM, SIG_DFL)
    let isBegun = AtomicFlag()
    let leftover = try Leftover {
      // The first to remove it gets stuck; the signal has it done all the same.
      if isBegun.testAndSet() { unsafe unlink(path) } else { AtomicFlag().wait() }
    } making: {
      try Data().write(to: URL(filePath: path))
    }
    try PosixThread.detach { leftover.remove() }
    isBegun.wait()
    kill(getpid(), SIGTERM)
    AtomicFlag().wait()
  }

  // MARK: Threads, descriptors, the network

  @Test("with too few descriptors a chapter says so at once", arguments: [1, 13, 17, 18, 22])
  func fewDescriptors(number: Int) throws {
    for limit in [8, 12, 16] {
      try refused(
        "ulimit -n \(limit); guide \(number)", .system, "guide: chapter \(number): it needs ",
        " open files at once, and the system gives ", ": Too many open files")
    }
  }

  @Test(
    "with too few threads a chapter says so at once, and waits for none",
    arguments: [1, 5, 15, 17, 21, 23, 24])
  func fewThreads(number: Int) throws {
    // The superuser has no limit, so that the program becomes another user's, if it can be.
    let stranger = "setpriv --reuid=23456 --clear-groups"
    guard try GuideProcess.shell("\(stranger) \"$0\" list", in: folder).status == 0 else { return }
    for limit in [1, 2, 4, 12] {
      try refused(
        "\(stranger) prlimit --nproc=\(limit) \"$0\" \(number)", .system,
        "guide: chapter \(number): it needs ", " threads at once, and the system gives ")
    }
  }

  @Test("without a network of its own, a machine shows all chapters but those that need it")
  func noNetwork() throws {
    let alone = "unshare --map-root-user --net"
    guard try GuideProcess.shell("\(alone) true", in: folder).status == 0 else { return }
    for number in [17, 18] {
      try refused(
        "\(alone) \"$0\" \(number)", .system,
        "guide: chapter \(number): there is no way to 127.0.0.1")
    }
    for number in [5, 13, 22] {
      #expect(try GuideProcess.shell("\(alone) \"$0\" \(number)", in: folder).status == 0)
    }
  }

  @Test("a server that says nothing is waited for a few seconds, which is told")
  func silentServer() throws {
    let server = try LocalServer { request in
      if request.page == "endless" { request.answer(.endless) }
    }
    let asked = [(17, "silent"), (17, "endless"), (18, "silent"), (18, "endless")]
    let processes = try asked.map { number, page in
      try GuideProcess(["\(number)", server.address(page)], in: folder)
    }
    for ((number, page), process) in zip(asked, processes) {
      let ending = try process.end()
      #expect(ending.status == 66)
      #expect(ending.output.contains("4.0 seconds"))
      #expect(
        ending.errors
          == "guide: chapter \(number): cannot fetch \(server.address(page)): "
          + "it was not there within 4.0 seconds\n")
    }
    try server.end()
  }

  // MARK: Feeds

  @Test("a feed that is too large, has no channel or may not be read is told as that")
  func feeds() throws {
    let item = "<item><title>hello</title></item>"
    let large = "<rss><channel>" + String(repeating: item, count: 400_000) + "</channel></rss>"
    try Data(large.utf8).write(to: URL(filePath: folder.path + "/large.rss"))
    try refused(
      "guide 18 large.rss", .noInput, "large.rss: it has 13,200,030 bytes, more than 10,000,000")
    let server = try LocalServer { $0.answer(.page(Array(large.utf8), type: "text/xml")) }
    try refused(
      "guide 18 \(server.address("x"))", .badData, "is too large: it has 13,200,030 bytes")
    try server.end()
    try refused("echo '<rss/>' > a; guide 18 a", .badData, "not an RSS feed: it has no channel")
    try refused("mkfifo b; guide 18 b", .noInput, "cannot read b: it is a pipe")
    try refused("guide 18 /dev/null", .noInput, "cannot read /dev/null: it is a device")
    try refused(
      "mkfifo stops.txt routes.txt trips.txt stop_times.txt; guide import .", .noInput,
      "it is a pipe")
    try refused("mkfifo Threading.md; guide articles .", .noInput, "Threading.md: it is a pipe")
    let few = "<rss><channel>" + String(repeating: item, count: 300_000) + "</channel></rss>"
    try Data(few.utf8).write(to: URL(filePath: folder.path + "/few.rss"))
    let shown = try GuideProcess(["18", "few.rss"], in: folder).end()
    #expect(shown.status == 0, "\(shown.errors)")
    #expect(shown.output.hasSuffix("  rows: 300000\n"))
  }

  // MARK: Child processes

  @Test("both outputs of a child process are read at the same time")
  func childProcess() throws {
    let script =
      "i=0; while [ $i -lt 3000 ]; do printf %0100d $i; printf %0100d $i >&2; i=$((i+1)); done"
    let child = try ChildProcess.run(["/bin/sh", "-c", script + "; exit 3"])
    #expect(child.status == 3 && child.signal == nil)
    #expect(child.output.utf8.count == 300_000 && child.errors == child.output)
    let killed = try ChildProcess.run(["/bin/sh", "-c", "kill -9 $$"])
    #expect(killed.status == nil && killed.signal == SIGKILL)
    #expect(throws: FileError.self) { try ChildProcess.run(["/nowhere/program"]) }
  }

  @Test("what this program ignores, its children do not")
  func childSignals() async {
    await #expect(processExitsWith: .success) {
      signal(SIGPIPE, SIG_IGN)
      signal(SIGXFSZ, SIG_IGN)
      let child = try ChildProcess.run(["/bin/cat", "/proc/self/status"])
      let line = try #require(child.output.firstMatch(of: /SigIgn:\t([0-9a-f]+)/))
      let ignored = try #require(UInt64(line.output.1, radix: 16))
      for number in [SIGPIPE, SIGXFSZ] { #expect(ignored & 1 << UInt64(number - 1) == 0) }
    }
  }
}
