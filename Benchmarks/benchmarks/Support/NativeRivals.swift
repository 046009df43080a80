import Foundation
import Glibc

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
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    for file in files.sorted() where file.hasSuffix(".so") {
      let path = URL(fileURLWithPath: folder).appending(path: file).path
      do throws(Refusal) {
        rivals += try Self.load(path)
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

  private struct Refusal: Error {
    let reason: String
  }

  private typealias Number = @convention(c) () -> Int32
  private typealias Name = @convention(c) (Int32) -> UnsafePointer<CChar>?
  private typealias Batch =
    @convention(c) (Int32, Int64, Int32, UnsafeMutablePointer<CChar>, Int) -> Int64

  /// The version of the interface that is understood.
  static let version: Int32 = 1

  private static func load(_ path: String) throws(Refusal) -> [Rival] {
    // Never closed: what it has is called until the end of the process.
    guard let library = unsafe dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
      throw Refusal(reason: unsafe dlerror().map { unsafe String(cString: $0) } ?? "not loaded")
    }
    func symbol<Function>(_ name: String, as type: Function.Type) throws(Refusal) -> Function {
      guard let address = unsafe dlsym(library, name) else {
        throw Refusal(reason: "it has no \(name); see Benchmarks/native/threading_rival.h")
      }
      // SAFETY: what has the name has the type that the interface gives it.
      return unsafe unsafeBitCast(address, to: type)
    }
    let found = try symbol("threading_rival_version", as: Number.self)()
    guard found == version else {
      throw Refusal(reason: "it is made for version \(found) of the interface, not \(version)")
    }
    let count = try symbol("threading_rival_count", as: Number.self)()
    let workload = unsafe try symbol("threading_rival_workload", as: Name.self)
    let name = unsafe try symbol("threading_rival_name", as: Name.self)
    let batch = unsafe try symbol("threading_rival_batch", as: Batch.self)
    var rivals: [Rival] = []
    for number in 0..<max(0, count) {
      guard let workload = unsafe workload(number), let name = unsafe name(number) else {
        throw Refusal(reason: "its rival \(number) has no workload or no name")
      }
      rivals.append(
        Rival(workload: unsafe String(cString: workload), name: unsafe String(cString: name)) {
          items, threads in
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
