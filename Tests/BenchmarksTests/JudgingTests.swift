import Foundation
import Glibc
import TestSupport
import Testing
import ThreadingLocks

@testable import benchmarks

/// A workload whose implementations take as many nanoseconds an item as they are told.
private func workload(
  _ name: String, ours: Int64, rival: Int64 = 20, rivalName: String = "pthread"
) -> Workload {
  Workload(
    name, item: "one turn", threads: 1, size: .fixed(1_000),
    [Implementation.ours { Int64($0) * ours }, Implementation(rivalName) { Int64($0) * rival }])
}

@Suite("Gate", .endsInTime)
struct GateTests {
  private let catalogue = [workload("lock/a", ours: 30), workload("lock/b", ours: 10)]

  @Test("limits that are kept succeed; comments and blank lines do not count")
  func kept() throws {
    let scratch = try Scratch()
    let gate = try scratch.file(
      "gate.txt",
      """
      # Generous.

      lock/a pthread 1.6  # ours takes 1.5 times as long
      \tlock/b \t pthread  0.5
      """)
    let transcript = Transcript()
    #expect(transcript.run(catalogue, ["--gate", gate, "--smoke"]) == .success)
    #expect(transcript.printed.contains("2 of 2 limits kept"))
  }

  @Test("a limit that is not kept ends with 2, told with its line, ratio and limit")
  func broken() throws {
    let scratch = try Scratch()
    let gate = try scratch.file("gate.txt", "lock/b pthread 0.6\nlock/a pthread 1.4\n")
    let transcript = Transcript()
    let status = transcript.run(catalogue, ["--gate", gate, "--smoke"])
    #expect(status.rawValue == 2)
    #expect(transcript.printed.contains("1 of 2 limits kept"))
    #expect(
      transcript.printed.contains(
        "line 2: lock/a: ours takes 1.50 times as long as pthread, allowed is 1.4"))
  }

  @Test("only what the file names is measured, and a limit that is not kept is measured again")
  func measured() throws {
    let calls = Locked<[String]>([])
    let box = CallBox(calls: calls)
    let named = Workload(
      "lock/named", item: "one turn", threads: 1, size: .fixed(100),
      [
        Implementation.ours { box.note("ours", Int64($0) * 10) },
        Implementation("slow") { box.note("slow", Int64($0) * 9) },
        Implementation("unnamed") { box.note("unnamed", Int64($0)) },
      ])
    let other = Workload(
      "lock/other", item: "one turn", threads: 1,
      [Implementation.ours { box.note("other", Int64($0)) }, Implementation("slow") { Int64($0) }])
    let scratch = try Scratch()
    let gate = try scratch.file("gate.txt", "lock/named slow 1.0\n")
    let transcript = Transcript()
    #expect(transcript.run([named, other], ["--gate", gate, "--smoke"]) == .tooSlow)
    // Three times calibrated by one call, and sampled by one.
    #expect(box.noted.count { $0 == "ours" } == 6)
    #expect(Set(box.noted) == ["ours", "slow"])
  }

  @Test("what needs anything where a rival needs nothing breaks each limit; nothing beside it none")
  func nothing() throws {
    let scratch = try Scratch()
    let gate = try scratch.file("gate.txt", "idle/a pthread 5\nidle/b pthread 0.5\n")
    let transcript = Transcript()
    let catalogue = [
      workload("idle/a", ours: 1, rival: 0), workload("idle/b", ours: 0, rival: 20),
    ]
    #expect(transcript.run(catalogue, ["--gate", gate, "--smoke"]) == .tooSlow)
    #expect(transcript.printed.contains("1 of 2 limits kept"))
    #expect(transcript.printed.contains("line 1: idle/a: ours takes inf times"))
  }

  @Test("lines may end as they do on Windows, and a file may be a pipe")
  func kindsOfFiles() throws {
    let scratch = try Scratch()
    let gate = try scratch.file("gate.txt", "# limits\r\nlock/a pthread 5\r\n")
    let transcript = Transcript()
    #expect(transcript.run(catalogue, ["--gate", gate, "--smoke"]) == .success)
    #expect(transcript.printed.contains("1 of 1 limits kept"))

    var ends: [CInt] = [0, 0]
    let code = unsafe pipe(&ends)
    #expect(code == 0)
    defer { close(ends[0]) }
    let text = Array("lock/a pthread 5\n".utf8)
    let written = unsafe write(ends[1], text, text.count)
    #expect(written == text.count)
    close(ends[1])
    let piped = Transcript()
    #expect(piped.run(catalogue, ["--gate", "/dev/fd/\(ends[0])", "--smoke"]) == .success)
    #expect(piped.printed.contains("1 of 1 limits kept"))
  }

  @Test("a machine that is busy during most samples breaks no limit that the quiet ones keep")
  func busyMachine() throws {
    let calls = Locked<[String]>([])
    let box = CallBox(calls: calls)
    func disturbed(_ quiet: Int) -> Workload {
      Workload(
        "lock/disturbed", item: "one turn", threads: 1, size: .fixed(1_000),
        [
          Implementation.ours { items in
            let busy = box.note("ours", 0) == 0 && box.noted.count % 4 != 0
            return Int64(items * (busy ? 100_000 : quiet))
          },
          Implementation("rival") { Int64($0) * 20_000 },
        ])
    }
    let scratch = try Scratch()
    let gate = try scratch.file("gate.txt", "lock/disturbed rival 1.0\n")
    let kept = Transcript()
    #expect(kept.run([disturbed(15_000)], ["--gate", gate]) == .success)
    // The quiet ones are too slow as well.
    let broken = Transcript()
    #expect(broken.run([disturbed(30_000)], ["--gate", gate]) == .tooSlow)
    #expect(broken.printed.contains("ours takes 1.50 times as long as rival"))
  }

  private final class CallBox: Sendable {
    let calls: Locked<[String]>

    init(calls: consuming Locked<[String]>) { self.calls = calls }

    func note(_ name: String, _ nanoseconds: Int64) -> Int64 {
      calls.withLock { $0.append(name) }
      return nanoseconds
    }

    var noted: [String] { calls.withLock { $0 } }
  }

  @Test(
    "a line at fault is refused with its number",
    arguments: [
      ("lock/a pthread 1.5\nlock/x pthread 2\n", "line 2", "\"lock/x\" is none"),
      ("\n# x\nlock/a dispatch 2\n", "line 3", "a rival of lock/a, one of pthread"),
      ("lock/a ours 2\n", "line 1", "a rival of lock/a, one of pthread"),
      ("lock/a pthread\n", "line 1", "a workload, a rival and a ratio above 0"),
      ("lock/a pthread fast\n", "line 1", "a workload, a rival and a ratio above 0"),
      ("lock/a pthread 0\n", "line 1", "a workload, a rival and a ratio above 0"),
      ("lock/a pthread 0x50p1\n", "line 1", "a workload, a rival and a ratio above 0"),
      ("lock/a pthread 1 2\n", "line 1", "a workload, a rival and a ratio above 0"),
      ("# nothing\n", "line 2", "the file ends here; expected is at least one"),
      ("", "line 1", "the file ends here; expected is at least one"),
    ])
  func refusals(text: String, line: String, reason: String) throws {
    let scratch = try Scratch()
    let gate = try scratch.file("gate.txt", text)
    let transcript = Transcript()
    #expect(transcript.run(catalogue, ["--gate", gate, "--smoke"]) == .usage)
    #expect(transcript.complained.contains("--gate: \(gate), \(line): "))
    #expect(transcript.complained.contains(reason), "\(transcript.complained)")
    #expect(transcript.printed.isEmpty)
  }

  @Test("a file that is not there is refused with the system's reason")
  func missing() throws {
    let scratch = try Scratch()
    let path = scratch.path("nothing")
    let transcript = Transcript()
    #expect(transcript.run(catalogue, ["--gate", path, "--smoke"]) == .usage)
    #expect(
      transcript.complained.contains(
        "--gate: \"\(path)\" is refused; allowed is a file that can be read (No such file"))
  }
}

@Suite("Comparison", .endsInTime)
struct ComparisonTests {
  private let catalogue = [workload("lock/a", ours: 30), workload("lock/b", ours: 10)]

  private func saved(_ scratch: Scratch, _ catalogue: [Workload]) -> String {
    let path = scratch.path("before.tsv")
    #expect(Transcript().run(catalogue, ["--smoke", "--save", path]) == .success)
    return path
  }

  @Test("a run compared with itself has no regressions")
  func same() throws {
    let scratch = try Scratch()
    let path = saved(scratch, catalogue)
    let transcript = Transcript()
    #expect(transcript.run(catalogue, ["--smoke", "--compare", path]) == .success)
    #expect(transcript.printed.contains("None of our 2 rows needs more than 1.3 times"))
  }

  @Test("what got slower by more than the threshold ends with 2 and is named")
  func slower() throws {
    let scratch = try Scratch()
    let path = saved(scratch, catalogue)
    let now = [workload("lock/a", ours: 45), workload("lock/b", ours: 10)]
    let transcript = Transcript()
    #expect(transcript.run(now, ["--smoke", "--compare", path]).rawValue == 2)
    #expect(transcript.printed.contains("1 of our 2 rows need more than 1.3 times"))
    let lines = transcript.printed.split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("lock/a") && $0.hasSuffix("1.50") })

    let lenient = Transcript()
    #expect(
      lenient.run(now, ["--smoke", "--compare", path, "--threshold", "1.6"]) == .success)
    #expect(lenient.printed.contains("None of our 2 rows needs more than 1.6 times"))
  }

  @Test("a machine that is slower for all is no regression; a rival that is slower neither")
  func drift() throws {
    let scratch = try Scratch()
    let names = ["lock/a", "lock/b", "lock/c", "lock/d", "lock/e"]
    let path = saved(scratch, names.map { workload($0, ours: 10) })
    let slowMachine = Transcript()
    #expect(
      slowMachine.run(
        names.map { workload($0, ours: 20, rival: 40) }, ["--smoke", "--compare", path])
        == .success)
    #expect(slowMachine.printed.contains("The machine takes 2.00 times as long"))

    let slowRival = Transcript()
    let one = names.map { workload($0, ours: 10, rival: $0 == "lock/a" ? 90 : 20) }
    #expect(slowRival.run(one, ["--smoke", "--compare", path]) == .success)
    #expect(slowRival.printed.contains("The machine takes 1.00 times as long"))

    // On that slow machine, one that is slower still shows.
    let both = Transcript()
    let slow = names.map { workload($0, ours: $0 == "lock/c" ? 40 : 20, rival: 40) }
    #expect(both.run(slow, ["--smoke", "--compare", path]) == .tooSlow)
    #expect(both.printed.contains("1 of our 5 rows"))
  }

  @Test("rows that the file does not have are counted, and a file with none is refused")
  func unknown() throws {
    let scratch = try Scratch()
    let path = saved(scratch, [catalogue[0]])
    let transcript = Transcript()
    #expect(transcript.run(catalogue, ["--smoke", "--compare", path]) == .success)
    #expect(transcript.printed.contains("Not in the file: 1 of our rows"))

    let none = Transcript()
    #expect(none.run([catalogue[1]], ["--smoke", "--compare", path]) == .usage)
    #expect(none.complained.contains("a file with a workload of this run"))
  }

  @Test("where a program reads the output, the comparison stands apart from it")
  func apart() throws {
    let scratch = try Scratch()
    let path = saved(scratch, catalogue)
    let transcript = Transcript()
    #expect(
      transcript.run(catalogue, ["--smoke", "--compare", path, "--format", "tsv"]) == .success)
    #expect(transcript.printed.split(separator: "\n").count == 5)
    #expect(transcript.complained.contains("Compared with"))
  }

  @Test("a foreign file is refused with its first offending line")
  func foreign() throws {
    let scratch = try Scratch()
    let good = saved(scratch, catalogue)
    let lines = try String(contentsOfFile: good, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
    func refusal(_ edit: (inout [String]) -> Void) throws -> String {
      var edited = lines
      edit(&edited)
      let path = try scratch.file("edited.tsv", edited.joined(separator: "\n"))
      let transcript = Transcript()
      #expect(transcript.run(catalogue, ["--smoke", "--compare", path]) == .usage)
      #expect(transcript.printed.isEmpty)
      return transcript.complained
    }
    #expect(try refusal { $0 = ["{\"rows\": []}"] }.contains("edited.tsv, line 1: \"{\"rows"))
    #expect(try refusal { $0 = [] }.contains("edited.tsv, line 1: the file ends here"))
    #expect(try refusal { $0[0] += "1" }.contains("edited.tsv, line 1: "))
    #expect(try refusal { $0[2] = "yesterday" }.contains("edited.tsv, line 3: \"yesterday\""))
    #expect(try refusal { $0[3] = "workload" }.contains("edited.tsv, line 4: \"workload\""))
    #expect(try refusal { $0[5] += "\tmore" }.contains("edited.tsv, line 6: "))
    #expect(try refusal { $0[6] = "lock/x\tours" }.contains("edited.tsv, line 7: \"lock/x\tours\""))
    #expect(
      try refusal { $0[5] = $0[5].replacingOccurrences(of: "20.000", with: "twenty") }
        .contains("edited.tsv, line 6: "))
    for (column, wrong) in [
      (2, "bytes"), (3, "1.5"), (4, "0"), (5, "0x10"), (6, "999999"), (8, "much"), (9, "-1"),
      (10, ""), (11, "nan"), (14, "0"),
    ] {
      let told = try refusal { lines in
        var fields = lines[5].split(separator: "\t", omittingEmptySubsequences: false).map(
          String.init)
        fields[column] = wrong
        lines[5] = fields.joined(separator: "\t")
      }
      #expect(told.contains("edited.tsv, line 6: "), "\(column): \(told)")
    }
    #expect(try refusal { $0[2] = "# " }.contains("edited.tsv, line 3: "))
    // Cut at the end of a line, of all rows, or of none.
    #expect(try refusal { $0.removeLast(3) }.contains("edited.tsv, line 8: the file ends here"))
    #expect(
      try refusal { $0.removeLast(2) }.contains("line 9: the file ends here; expected is \"# 4"))
    #expect(try refusal { $0.removeLast(6) }.contains("line 5: the file ends here; expected is at"))
    #expect(try refusal { $0.remove(at: 5) }.contains("edited.tsv, line 8: \"# 4 rows\""))
    #expect(
      try refusal { $0[5] = $0[4] }.contains("expected is each implementation of a workload once"))
  }

  @Test("a file that cannot be read or written is refused before anything is measured")
  func unreachable() throws {
    let scratch = try Scratch()
    let missing = Transcript()
    #expect(missing.run(catalogue, ["--smoke", "--compare", scratch.path("x")]) == .usage)
    #expect(missing.complained.contains("No such file"))
    let nowhere = Transcript()
    let inNothing = scratch.path("nothing/before.tsv")
    #expect(nowhere.run(catalogue, ["--smoke", "--save", inNothing]) == .usage)
    #expect(nowhere.complained.contains("a file that can be written (No such file"))
    let folder = Transcript()
    #expect(folder.run(catalogue, ["--smoke", "--save", scratch.folder.path]) == .usage)
    #expect(folder.complained.contains("--save: "))
    #expect(folder.complained.contains("a file that can be written (Is a directory)"))
    #expect(missing.printed.isEmpty && folder.printed.isEmpty)
    let binary = scratch.path("binary")
    try Data([0xFF, 0xFE, 0x00]).write(to: URL(fileURLWithPath: binary))
    let foreign = Transcript()
    #expect(foreign.run(catalogue, ["--smoke", "--compare", binary]) == .usage)
    #expect(foreign.complained.contains("a file of text in UTF-8"))
  }

  @Test("a run of which nothing can be compared does not succeed, and a strange machine is told")
  func incomparable() throws {
    let scratch = try Scratch()
    let path = saved(scratch, catalogue)
    let now = [
      Workload(
        "lock/a", item: "one turn", threads: 1, size: .fixed(1_000),
        [Implementation("pthread") { Int64($0) }])
    ]
    let transcript = Transcript()
    #expect(transcript.run(now, ["--smoke", "--compare", path]) == .usage)
    #expect(transcript.printed.contains("None of our 0 rows"))

    let names = ["lock/a", "lock/b", "lock/c", "lock/d", "lock/e"]
    let before = saved(scratch, names.map { workload($0, ours: 10) })
    let other = Transcript()
    let faster = names.map { workload($0, ours: 1, rival: 2) }
    #expect(other.run(faster, ["--smoke", "--compare", before]) == .success)
    #expect(other.printed.contains("No machine drifts by that much"))
  }

  @Test("one file is not written twice, and links lead to what they name")
  func links() throws {
    let scratch = try Scratch()
    let path = scratch.path("before.tsv")
    let link = scratch.path("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "before.tsv")
    let twice = Transcript()
    #expect(twice.run(catalogue, ["--smoke", "--save", path, "--report", link]) == .usage)
    #expect(twice.complained.contains("another file than --save writes"))
    // It leads to nothing yet, then to an older run.
    for _ in 0..<2 {
      #expect(Transcript().run(catalogue, ["--smoke", "--save", link]) == .success)
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "before.tsv")
      #expect(try String(contentsOfFile: path, encoding: .utf8).hasSuffix("# 4 rows\n"))
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.folder.path).count == 2)
  }

  @Test("a pipe that nobody reads is not waited for, and a device is written as it is")
  func devices() throws {
    let scratch = try Scratch()
    let pipe = scratch.path("pipe")
    let code = unsafe mkfifo(pipe, 0o600)
    #expect(code == 0)
    let unread = Transcript()
    #expect(unread.run(catalogue, ["--smoke", "--save", pipe]) == .usage)
    #expect(unread.complained.contains("a file that can be written (No such device"))
    #expect(Transcript().run(catalogue, ["--smoke", "--save", "/dev/null"]) == .success)
    let full = Transcript()
    #expect(full.run(catalogue, ["--smoke", "--save", "/dev/full"]) == .refused)
    #expect(full.complained.contains("--save: \"/dev/full\" cannot be written"))
    var info = stat()
    let isThere = unsafe stat("/dev/null", &info) == 0
    #expect(isThere && info.st_mode & S_IFMT == S_IFCHR)
  }

  @Test("what is there already stays until a run has succeeded to replace it")
  func keepsOld() throws {
    let scratch = try Scratch()
    let path = try scratch.file("before.tsv", "old")
    #expect(
      Transcript().run(catalogue, ["--smoke", "--save", path, "--filter", "none"]) == .usage)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
    #expect(Transcript().run(catalogue, ["--smoke", "--save", path]) == .success)
    #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix("# swift-threading"))
  }
}
