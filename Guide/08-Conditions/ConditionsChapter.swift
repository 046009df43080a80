import Threading

/// Waiting until something holds. `README.md` beside this file explains it.
enum ConditionsChapter: Chapter {
  static let number = 8
  static let name = "conditions"
  static let title = "Waiting until something holds"
  static let folder = "08-Conditions"

  static func run(on page: Page) throws {
    page.section("A bounded buffer, with a condition variable")
    let byHand = try pump(10_000, through: ConditionBuffer(capacity: 4))
    page.claim("10,000 numbers came through, each once, in order", byHand.isComplete)
    page.claim("never more than 4 were in the buffer", byHand.most <= 4)

    page.section("The same, with a lock that knows what it waits for")
    let byPredicate = try pump(10_000, through: PredicateBuffer(capacity: 4))
    page.claim("10,000 numbers came through, each once, in order", byPredicate.isComplete)
    page.claim("never more than 4 were in the buffer", byPredicate.most <= 4)

    page.section("A signal is not remembered")
    page.claim("it came before the wait, and the wait went on until its limit", signalIsLost())
    page.claim("an event is remembered: the wait returns at once", eventIsKept())

    page.section("Woken is not served")
    let woken = try wakeThree()
    page.claim("one item, three woken threads: one got it", woken.served == 1)
    page.claim("each looked again, and two went on waiting", woken.looks >= 6)

    page.section("A lock with a state")
    page.claim(
      "ping and pong took turns", try pingPong(rounds: 3) == "ping pong ping pong ping pong")
  }
}
