/// What is measured of an item; `Unit` is a type of Foundation.
package enum Quantity: String, Codable, Sendable {
  /// How long it takes.
  case nanoseconds = "ns"
  /// How much memory it holds.
  case bytes
  /// How often a thread runs while nothing happens.
  case wakeUps = "wake-ups"
}
