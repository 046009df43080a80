import Threading

/// Atomic operations and the order in which they are seen. `README.md` beside this file explains it.
enum AtomicsChapter: Chapter {
  static let number = 10
  static let name = "atomics"
  static let title = "Atomics"
  static let folder = "10-Atomics"

  static func run(on page: Page) throws {
    page.section("Counters and flags")
    page.claim("four threads drew 4,000 tickets, no number twice", try ticketsAreUnique())
    page.claim("ten threads wanted to be first, one was", try firstOf(10) == 1)

    page.section("Publication")
    page.claim(
      "who sees the flag sees what was written before it, 2,000 times", try publish(2_000) == 2_000)

    page.section("What one thread sees of another's writes")
    let strict = try bothMissed(rounds: 2_000, .strict)
    page.claim("sequentially consistent: never did both miss the other's write", strict == 0)
    let loose = try bothMissed(rounds: 2_000, .loose)
    page.figure("relaxed: both missed it in", "\(loose) of 2,000 rounds")

    page.section("A change of one's own: compare and exchange")
    page.claim("the largest of 4,000 numbers from four threads was kept", try largest() == 3_999)

    page.section("A stack without a lock, and its ABA problem")
    page.claim("the step was done, though the stack had changed: 2 was on it twice", abaHappens())
    page.claim("with a number for each change the step is refused", abaIsSeen())
    page.claim("4 threads, 20,000 pushes and pops: nothing lost, nothing twice", try stackIsWhole())
  }
}
