import Foundation
import Glibc

/// A shared object with rivals in C or C++, as Benchmarks/native/build.sh builds them. What it has to
/// offer is described in Benchmarks/native/threading_rival.h.
// SAFETY of @safe: what is loaded stays.
@safe
package struct PlugIn {
  /// Why a plug-in cannot be used.
  package struct Refusal: Error {
    /// For people.
    package let reason: String

    package init(reason: String) { self.reason = reason }
  }

  /// The version of the interface that is understood.
  package static let version: Int32 = 1

  /// The plug-ins of a folder, by the names of their files. A folder that is not there has none.
  package static func paths(in folder: String) -> [String] {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return files.sorted().filter { $0.hasSuffix(".so") }.map {
      URL(fileURLWithPath: folder).appending(path: $0).path
    }
  }

  // Never closed: what it has is called until the end of the process.
  private let library: UnsafeMutableRawPointer

  /// Loads a plug-in.
  ///
  /// - Throws: why it cannot be used.
  package init(_ path: String) throws(Refusal) {
    guard let library = unsafe dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
      throw Refusal(reason: unsafe dlerror().map { unsafe String(cString: $0) } ?? "not loaded")
    }
    unsafe self.library = library
    let found = try number("threading_rival_version")
    guard found == Self.version else {
      throw Refusal(
        reason: "it is made for version \(found) of the interface, not \(Self.version)")
    }
  }

  /// Whether it has something of this name: not all do, of what is not of all.
  package func has(_ name: String) -> Bool { unsafe dlsym(library, name) != nil }

  /// A function of the plug-in.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - type: The type that the interface gives it.
  /// - Returns: The function.
  /// - Throws: that it is not there.
  @unsafe
  package func symbol<Function>(
    _ name: String, as type: Function.Type
  ) throws(Refusal) -> Function {
    guard let address = unsafe dlsym(library, name) else {
      throw Refusal(reason: "it has no \(name); see Benchmarks/native/threading_rival.h")
    }
    return unsafe unsafeBitCast(address, to: type)
  }

  private typealias Number = @convention(c) () -> Int32
  private typealias Name = @convention(c) (Int32) -> UnsafePointer<CChar>?

  // SAFETY, both: for names to which the interface gives these types.

  /// What a function without arguments answers, not less than 0.
  ///
  /// - Throws: that it is not there.
  package func number(_ name: String) throws(Refusal) -> Int32 {
    max(0, unsafe try symbol(name, as: Number.self)())
  }

  /// A function that names what has a number; it answers nil where the plug-in gives no name.
  ///
  /// - Throws: that it is not there.
  package func names(_ name: String) throws(Refusal) -> (Int32) -> String? {
    let function = unsafe try symbol(name, as: Name.self)
    return { number in unsafe function(number).map { unsafe String(cString: $0) } }
  }
}
