import BenchmarkSupport
import Foundation
import TestSupport
import Testing

@testable import benchmarks

@Suite("Rivals in C", .endsInTime, .enabled(if: SharedObject.compiler != nil))
struct NativeRivalsTests {
  /// Compiles a plug-in into a folder.
  private func build(_ source: String, _ name: String, in scratch: Scratch) throws {
    try SharedObject.build(
      source, at: scratch.path("\(name).so"), including: Self.headers.path)
  }

  private static let headers = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Benchmarks/native")

  /// Three rivals: two of a family and of a workload, and one that is always wrong.
  private static let source = """
    #include "threading_rival.h"
    #include <stdio.h>
    int32_t threading_rival_version(void) { return VERSION; }
    int32_t threading_rival_count(void) { return 3; }
    const char *threading_rival_workload(int32_t rival) {
      return rival == 0 ? "lock/some" : rival == 1 ? "lock/quick" : "lock/bad";
    }
    const char *threading_rival_name(int32_t rival) { return rival == 2 ? "broken" : "native"; }
    int64_t threading_rival_batch(
        int32_t rival, int64_t items, int32_t threads, char *error, size_t size) {
      if (rival == 2) {
        snprintf(error, size, "the count is %d, expected %d", 1, 2);
        return -1;
      }
      return items * (rival == 0 ? 1000 * threads : 30);
    }
    """

  private static let catalogue = [
    Workload(
      "lock/some-4", item: "one", threads: 4, family: "lock/some",
      [Implementation.ours { Int64($0) * 1_000 }]),
    Workload("lock/quick", item: "one", threads: 1, [Implementation.ours { Int64($0) * 10 }]),
    Workload("lock/other", item: "one", threads: 1, [Implementation.ours { Int64($0) * 10 }]),
  ]

  @Test("they take part in the workloads that they name, and in families of them")
  func joining() throws {
    let scratch = try Scratch()
    try build("#define VERSION THREADING_RIVAL_VERSION\n" + Self.source, "good", in: scratch)
    let transcript = Transcript()
    let status = transcript.run(
      Self.catalogue, ["--smoke", "--format", "tsv", "--native", scratch.folder.path])
    #expect(status == .success)
    let lines = transcript.printed.split(separator: "\n").map {
      $0.split(separator: "\t").map(String.init)
    }
    let native = lines.filter { $0[1] == "native" }
    #expect(native.map { $0[0] } == ["lock/some-4", "lock/quick"])
    #expect(native.map { $0[5] } == ["4000.000", "30.000"])
  }

  @Test("a wrong result of theirs is told with their own words")
  func wrong() throws {
    let scratch = try Scratch()
    try build("#define VERSION THREADING_RIVAL_VERSION\n" + Self.source, "good", in: scratch)
    let bad = Workload("lock/bad", item: "one", threads: 1, [Implementation.ours { Int64($0) }])
    let transcript = Transcript()
    let status = transcript.run([bad], ["--smoke", "--native", scratch.folder.path])
    #expect(status == .wrongResult)
    #expect(
      transcript.complained.contains(
        "lock/bad, broken: wrong result: the count is 1, expected 2"))
  }

  @Test("what cannot be used is told, and the rest goes on")
  func unusable() throws {
    let scratch = try Scratch()
    try build("#define VERSION 7\n" + Self.source, "later", in: scratch)
    try build("int threading_rival_count(void) { return 1; }\n", "other", in: scratch)
    _ = try scratch.file("text.so", "no library")
    _ = try scratch.file("notes.txt", "not looked at")
    let folder = ["--smoke", "--native", scratch.folder.path]
    // Asked for plug-ins, it has none.
    #expect(Transcript().run(Self.catalogue, folder) == .usage)
    try build("#define VERSION THREADING_RIVAL_VERSION\n" + Self.source, "good", in: scratch)
    let transcript = Transcript()
    #expect(transcript.run(Self.catalogue, folder) == .success)
    let told = transcript.complained
    #expect(told.contains("later.so: it is made for version 7 of the interface, not 1"))
    #expect(told.contains("other.so: it has no threading_rival_version"))
    #expect(told.contains("text.so: "))
    #expect(!told.contains("notes.txt"))
  }

  @Test("a folder that is named and has none is refused; the usual one may be empty")
  func none() throws {
    let scratch = try Scratch()
    let transcript = Transcript()
    #expect(
      transcript.run(Self.catalogue, ["--smoke", "--native", scratch.folder.path]) == .usage)
    #expect(transcript.complained.contains("--native: \"\(scratch.folder.path)\" is refused"))
    #expect(transcript.complained.contains("Benchmarks/native/build.sh"))
    let missing = Transcript()
    #expect(missing.run(Self.catalogue, ["--smoke", "--native", scratch.path("x")]) == .usage)

    let errors = Transcript()
    let program = Program(
      catalogue: { _ in Self.catalogue },
      console: Console(print: { _ in }, complain: errors.complain, showsProgress: false),
      nativeFolder: scratch.path("x"))
    #expect(program.run(["--smoke"]) == .success)
    #expect(errors.complained.isEmpty)
  }
}
