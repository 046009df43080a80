/// Stops the program with a message unless a condition holds, in every kind of build.
///
/// The standard library's `precondition` drops its message from optimised builds, where it would
/// help most.
@inlinable
package func require(
  _ condition: Bool, _ message: @autoclosure () -> String, file: StaticString = #fileID,
  line: UInt = #line
) {
  if !condition { fatalError(message(), file: file, line: line) }
}
