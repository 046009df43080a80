import BenchmarkSupport
import Foundation

/// Rivals in C and C++, from shared objects that Benchmarks/native/build.sh has built. The interface
/// is described in Benchmarks/native/threading_rival.h.
struct NativeRivals {
  /// A rival and the workload, or family of workloads, that it takes part in.
  struct Rival: Sendable {
    let workload: String
    let name: String
    let batch: @Sendable (_ items: Int, _ threads: Int) throws -> Int64
  }

  private(set) var rivals: [Rival] = []
  /// What was found and could not be used, and why; for people.
  private(set) var problems: [String] = []

  /// None at all.
  init() {}

  /// Those in a folder, by the names of their files. A folder that is not there has none.
  init(folder: String) {
    for path in PlugIn.paths(in: folder) {
      do throws(PlugIn.Refusal) {
        rivals += try Self.rivals(of: try PlugIn(path))
      } catch {
        problems.append("\(path): \(error.reason)")
      }
    }
  }

  /// The workloads with the rivals that take part in them.
  func joining(_ workloads: [Workload]) -> [Workload] {
    workloads.map { workload in
      let present = Set(workload.implementations.map(\.name))
      let joining = rivals.filter {
        ($0.workload == workload.name || $0.workload == workload.family)
          && !present.contains($0.name)
      }
      return workload.adding(
        joining.map { rival in
          Implementation(rival.name) { try rival.batch($0, workload.threads) }
        })
    }
  }

  // MARK: - Loading

  private typealias Batch =
    @convention(c) (Int32, Int64, Int32, UnsafeMutablePointer<CChar>, Int) -> Int64

  private static func rivals(of plugIn: PlugIn) throws(PlugIn.Refusal) -> [Rival] {
    let count = try plugIn.number("threading_rival_count")
    let workload = try plugIn.names("threading_rival_workload")
    let name = try plugIn.names("threading_rival_name")
    let batch = unsafe try plugIn.symbol("threading_rival_batch", as: Batch.self)
    var rivals: [Rival] = []
    for number in 0..<max(0, count) {
      guard let workload = workload(number), let name = name(number) else {
        throw PlugIn.Refusal(reason: "its rival \(number) has no workload or no name")
      }
      rivals.append(
        Rival(workload: workload, name: name) { items, threads in
          var error = [CChar](repeating: 0, count: 256)
          let time = unsafe batch(
            number, Int64(items), Int32(threads), &error, error.count)
          guard time >= 0 else {
            let text = error.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            throw WrongResult(String(decoding: text, as: UTF8.self))
          }
          return time
        })
    }
    return rivals
  }
}
