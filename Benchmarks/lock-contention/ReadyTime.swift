import Glibc

/// How long the calling thread has been ready to run and had no processor: what a thread waits for the
/// scheduler, and not for a lock.
struct ReadyTime {
  private let descriptor = unsafe open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)
  private var taken: Int64 = 0

  /// Nanoseconds since the last call; 0 where the kernel does not tell.
  mutating func take() -> Int64 {
    var bytes = [UInt8](repeating: 0, count: 128)
    let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
    guard count > 0 else { return 0 }
    // Time on a processor, time ready without one, and turns on a processor.
    let fields = String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ")
    guard fields.count > 1, let all = Int64(fields[1]) else { return 0 }
    defer { taken = all }
    return all - taken
  }

  func close() {
    if descriptor >= 0 { _ = Glibc.close(descriptor) }
  }
}
