import TestSupport
import Testing

@testable import benchmarks

/// Whether the process runs under the thread sanitizer. It does not see the order that Dispatch,
/// Foundation and the standard library's lock make, and reports their users.
private let underThreadSanitizer = ThreadSanitizer.isActive

@Suite("Catalogue", .endsInTime)
struct CatalogueTests {
  @Test("names are area/what, and each is there once")
  func names() {
    let names = Catalogue.all.map(\.name)
    #expect(Set(names).count == names.count)
    for name in names {
      #expect(name.wholeMatch(of: /[a-z]+\/[a-z0-9-]+/) != nil, "\(name)")
    }
  }

  @Test("each workload has ours first, and every implementation once, with a rival")
  func implementations() {
    for workload in Catalogue.all {
      let names = workload.implementations.map(\.name)
      #expect(names.first == Implementation.oursName, "\(workload.name)")
      #expect(Set(names).count == names.count, "\(workload.name)")
      #expect(names.count >= 2, "\(workload.name)")
    }
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let workload: Workload
    let implementation: Implementation

    var testDescription: String { "\(workload.name), \(implementation.name)" }

    /// Runs one small batch.
    func smoke() throws -> Double {
      let items =
        switch workload.size {
        case .calibrated: 20
        case .fixed(let count): min(count, Plan.smoke.largestRound)
        }
      return Double(try implementation.batch(items))
    }
  }

  static let cases = allCases.filter { $0.workload.unit != .bytes }

  static let allCases = Catalogue.all.flatMap { workload in
    workload.implementations
      .filter { !underThreadSanitizer || $0.name == Implementation.oursName }
      .map { Case(workload: workload, implementation: $0) }
  }

  @Test(
    "every implementation gives the right result in a small batch",
    // One after the other: some need more than half of the descriptors that a process may have.
    .serialized, .endsInTime, arguments: cases)
  func smoke(_ one: Case) throws {
    #expect(try one.smoke() >= 0)
  }

  // In a process of its own: other tests take and give back memory as well.
  @Test("every implementation of a workload of memory gives a figure that can be", .endsInTime)
  func memory() async {
    await #expect(processExitsWith: .success) {
      for one in CatalogueTests.allCases where one.workload.unit == .bytes {
        let bytes = try one.smoke()
        #expect(bytes >= 0, "\(one.testDescription)")
      }
    }
  }
}
