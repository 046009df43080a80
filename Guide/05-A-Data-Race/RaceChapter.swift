import Threading

/// A data race, seen, found and cured. `README.md` beside this file explains it.
enum RaceChapter: Chapter {
  static let number = 5
  static let name = "race"
  static let title = "A data race, seen, found and cured"
  static let folder = "05-A-Data-Race"
  static let parts = [
    Part("race") { page in
      // Whether the two meet depends on luck, so it is given some chances; and so it does whether the
      // sanitizer, which has seen them meet, still remembers what the other did.
      let rounds = Sanitizer.isThread ? 8 : 40
      var sum = 2 * times
      for _ in 1...rounds where sum == 2 * times || Sanitizer.isThread {
        sum = try countTogether(to: times)
      }
      page.say("\(sum)")
    }
  ]

  /// How often each of two threads adds one.
  static let times = 500_000

  static func run(on page: Page) throws {
    page.section("Two threads add to one variable (in a process of its own)")
    if Sanitizer.isThread { Sanitizer.rememberMore() }
    let race = try ChildProcess.run("race", of: Self.self)
    let sum = Int(race.output.drop { $0 == " " }.dropLast())
    if race.errors.contains("WARNING: ThreadSanitizer:") {
      page.skip("500,000 and 500,000 make less than 1,000,000")
      page.figure("this time", "the thread sanitizer found the race, before anybody counted")
    } else if let sum, sum < 2 * times {
      page.claim("500,000 and 500,000 make less than 1,000,000", true)
      page.figure("this time", "\(Figures.grouped(sum))")
    } else {
      page.skip("500,000 and 500,000 make less than 1,000,000")
      page.figure("this time", "the two threads never met, in 40 rounds")
    }

    page.section("In slow motion")
    let slow = try addInSlowMotion()
    page.claim("both read 0, both wrote 1: one of two additions is lost", slow == 1)

    page.section("Cured")
    let locked = try countLocked(to: times)
    page.claim("with a lock: exactly 1,000,000", locked.sum == 2 * times)
    let atomic = try countAtomically(to: times)
    page.claim("with an atomic counter: exactly 1,000,000", atomic.sum == 2 * times)
    let apart = try countApart(to: times)
    page.claim("each by itself, and added up after the join: the same", apart.sum == 2 * times)
    page.figure("with a lock", "\(Figures.tenths(locked.nanoseconds)) ns for one addition")
    page.figure("with an atomic", "\(Figures.tenths(atomic.nanoseconds)) ns")
    page.figure("each by itself", "\(Figures.tenths(apart.nanoseconds)) ns")

    page.section("Two steps, each with the lock, are not one step")
    page.claim("looked, then took: the account is 60 below zero", try takeInTwoSteps() == -60)
    page.claim("looked and took in one step: 20 are left", try takeInOneStep() == 20)
  }
}
