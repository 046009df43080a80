import TestSupport
import Testing

/// The orders of single steps that no machine of the kind which runs the tests needs, and others do.
@Suite("Orders of memory", .endsInTime)
struct LitmusTests {
  // MARK: The tool

  /// Two threads that each write one cell and read the other's: whether both may see nothing.
  private func bothMissEachOther(_ order: Litmus.Order) -> Bool {
    Litmus(threads: [
      [.store(1, "x", order), .load("y", order, into: "first")],
      [.store(1, "y", order), .load("x", order, into: "second")],
    ]).ends().contains { $0.registers["first"] == 0 && $0.registers["second"] == 0 }
  }

  /// A message and a flag: whether the flag may be seen without the message.
  private func flagWithoutMessage(_ write: Litmus.Order, _ read: Litmus.Order) -> Bool {
    Litmus(threads: [
      [.store(1, "message", .relaxed), .store(1, "flag", write)],
      [.load("flag", read, into: "flag"), .load("message", .relaxed, into: "message")],
    ]).ends().contains { $0.registers["flag"] == 1 && $0.registers["message"] == 0 }
  }

  @Test("the classic questions have the classic answers")
  func classics() {
    #expect(bothMissEachOther(.relaxed))
    #expect(
      Litmus(threads: [
        [.store(1, "x", .releasing), .load("y", .acquiring, into: "first")],
        [.store(1, "y", .releasing), .load("x", .acquiring, into: "second")],
      ]).ends().contains { $0.registers["first"] == 0 && $0.registers["second"] == 0 })
    #expect(!bothMissEachOther(.sequentiallyConsistent))
    #expect(!flagWithoutMessage(.releasing, .acquiring))
    #expect(flagWithoutMessage(.relaxed, .acquiring))
    #expect(flagWithoutMessage(.releasing, .relaxed))
  }

  // MARK: Stripes of readers

  /// A reader takes its stripe and looks whether the stripes are on. One thread turns them off; a
  /// writer finds them off and looks at the stripe. Whether the writer may miss a reader that reads.
  private func writerMissesReader(
    take: Litmus.Order = .sequentiallyConsistent, check: Litmus.Order = .sequentiallyConsistent,
    turnOff: Litmus.Order = .sequentiallyConsistent, find: Litmus.Order = .sequentiallyConsistent,
    look: Litmus.Order = .sequentiallyConsistent
  ) -> Bool {
    Litmus(threads: [
      [.change("stripe", take) { _ in 1 }, .load("off", check, into: "seenByReader")],
      [.change("off", turnOff) { _ in 1 }],
      [.load("off", find, into: "seenByWriter"), .load("stripe", look, into: "stripe")],
    ]).ends().contains {
      $0.registers["seenByReader"] == 0 && $0.registers["seenByWriter"] == 1
        && $0.registers["stripe"] == 0
    }
  }

  @Test("a writer does not miss a reader's stripe, whoever has turned the stripes off")
  func stripes() {
    #expect(!writerMissesReader())
    #expect(writerMissesReader(find: .relaxed))
    #expect(writerMissesReader(take: .relaxed, check: .relaxed))
  }

  /// A writer that tries reads the word's turns, finds no stripe taken, and takes the word. Meanwhile a
  /// reader that holds the word turns the stripes on and leaves, and another takes its stripe.
  private func tryMissesReader(
    turns: Litmus.Order = .acquiring, turnOn: Litmus.Order = .sequentiallyConsistent,
    leave: Litmus.Order = .releasing
  ) -> Bool {
    // The stripes are off at first. The word is a thousand for each turn, and 1 for a reader.
    Litmus(
      threads: [
        [
          .change("on", turnOn) { _ in 1 }, .change("word", .relaxed) { $0 + 1_000 },
          .change("word", leave) { $0 - 1 },
        ],
        [
          .load("word", turns, into: "word"), .load("on", .relaxed, into: "on"),
          .change("word", .acquiring, into: "before") { $0 },
        ],
      ], cells: ["word": 1]
    ).ends().contains {
      // It saw the word free, the stripes off, and the word as it was.
      $0.registers["word"] == 1_000 && $0.registers["on"] == 0 && $0.registers["before"] == 1_000
    }
  }

  @Test("a writer that tries sees the stripes on that were turned on before the word became free")
  func turns() {
    #expect(!tryMissesReader())
    #expect(tryMissesReader(turns: .relaxed))
    #expect(!tryMissesReader(turnOn: .relaxed))
    #expect(tryMissesReader(turnOn: .relaxed, leave: .relaxed))
  }

  // MARK: WaitPoint

  /// A waiter announces itself, reads the epoch, looks at the value, and sleeps if the epoch is still
  /// the same. A notifier changes the value, looks for waiters, and moves the epoch on if there are.
  /// Whether the waiter may sleep for good.
  private func sleepsForGood(
    announce: Litmus.Order = .sequentiallyConsistent, epoch: Litmus.Order = .acquiring,
    ask: Litmus.Order = .sequentiallyConsistent, wake: Litmus.Order = .releasing
  ) -> Bool {
    Litmus(threads: [
      [
        .change("waiting", announce) { $0 + 1 }, .load("epoch", epoch, into: "epoch"),
        .load("value", .relaxed, into: "value"),
        // The kernel's own look.
        .change("epoch", .sequentiallyConsistent, into: "epochInKernel") { $0 },
      ],
      [
        .store(1, "value", .relaxed), .change("waiting", ask, into: "waiting") { $0 },
        .change("epoch", wake, when: ("waiting", { $0 > 0 })) { $0 + 1 },
      ],
    ]).ends().contains { end in
      end.registers["value"] == 0 && end.registers["epoch"] == end.registers["epochInKernel"]
        && end.registers["epochInKernel"] == end.cells["epoch", default: 0]
    }
  }

  @Test("a waiter for an atomic value is not left asleep")
  func waitPoint() {
    #expect(!sleepsForGood())
    #expect(sleepsForGood(epoch: .relaxed))
    #expect(sleepsForGood(announce: .relaxed))
    #expect(sleepsForGood(ask: .relaxed))
  }

  // MARK: SequenceLocked

  /// A writer makes the version odd, writes two words, and makes it even. A reader reads the version,
  /// the words, and the version again. Whether it may take a torn value for whole.
  private func torn(
    odd: Litmus.Order = .relaxed, write: Litmus.Order = .releasing,
    even: Litmus.Order = .releasing, begin: Litmus.Order = .acquiring,
    read: Litmus.Order = .acquiring, end: Litmus.Order = .relaxed
  ) -> Bool {
    Litmus(threads: [
      [
        .store(1, "version", odd), .store(1, "first", write), .store(1, "second", write),
        .store(2, "version", even),
      ],
      [
        .load("version", begin, into: "before"), .load("first", read, into: "first"),
        .load("second", read, into: "second"), .load("version", end, into: "after"),
      ],
    ]).ends().contains { state in
      let registers = state.registers
      return registers["before"] == registers["after"] && registers["before"] != 1
        && registers["first"] != registers["second"]
    }
  }

  @Test("a sequence lock's reader takes no torn value for whole")
  func sequenceLock() {
    #expect(!torn())
    #expect(torn(write: .relaxed))
    #expect(torn(read: .relaxed))
    #expect(torn(begin: .relaxed))
    #expect(torn(even: .relaxed))
  }
}
