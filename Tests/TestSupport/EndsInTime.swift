import Dispatch
import Glibc
import Testing

/// Gives each test its turn, and ends the run if the test then takes far too long.
///
/// The library begins all tests at once. Those that start processes would then run by the hundred, and a
/// task that a test starts would wait behind all the tests that have not run: nothing could be told from
/// how long something takes. With this, a few run at a time, and a test's time is its own.
public struct EndsInTime: SuiteTrait, TestTrait, TestScoping {
  /// How long a test may take: far beyond what any takes on a slow machine, under a sanitizer.
  private static let limit = LongTests.areOn ? 240 : 10

  /// Two of them block the threads that the library runs tests on; the others wait for a process.
  private static let turns = Turns(max(4, 2 * sysconf(CInt(_SC_NPROCESSORS_ONLN))))

  @TaskLocal private static var hasTurn = false

  /// Applied to a suite, it is for each of its tests.
  public var isRecursive: Bool { true }

  /// Asked by the library: once for a suite or a test, and once for each case of a test.
  public func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
    testCase == nil ? nil : self
  }

  /// Called by the library, once for each case.
  ///
  /// - Throws: what the test throws.
  public func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    guard !Self.hasTurn else { return try await function() }
    await Self.turns.take()
    let name = test.displayName ?? test.name
    let end = DispatchWorkItem {
      fatalError("\"\(name)\" has not ended after \(Self.limit) minutes")
    }
    DispatchQueue.global().asyncAfter(
      deadline: .now() + .seconds(Self.limit * 60), execute: end)
    let result: Result<Void, any Error>
    do {
      result = .success(try await Self.$hasTurn.withValue(true) { try await function() })
    } catch { result = .failure(error) }
    end.cancel()
    await Self.turns.give()
    try result.get()
  }

  /// So many at a time, first come first served.
  private actor Turns {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var next = 0

    init(_ count: Int) { free = count }

    func take() async {
      if free > 0 {
        free -= 1
        return
      }
      await withCheckedContinuation { waiting.append($0) }
    }

    func give() {
      guard next < waiting.count else {
        free += 1
        return
      }
      // Passed on: nobody who comes now is before who waits.
      let first = waiting[next]
      next += 1
      first.resume()
    }
  }
}

extension Trait where Self == EndsInTime {
  /// Gives each test its turn, and ends the run if the test then takes far too long.
  public static var endsInTime: EndsInTime { EndsInTime() }
}
