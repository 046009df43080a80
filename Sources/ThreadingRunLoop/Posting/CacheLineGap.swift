/// Keeps what stands before it in an object and what stands after it off one another's cache lines.
struct CacheLineGap: Sendable {
  private let filler: (Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64) =
    (0, 0, 0, 0, 0, 0, 0, 0)
}
