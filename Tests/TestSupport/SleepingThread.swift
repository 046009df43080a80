import Glibc

/// Whether a thread of this process sleeps in the kernel at this moment.
public func threadIsAsleep(_ kernelID: UInt32) -> Bool {
  guard let file = unsafe fopen("/proc/self/task/\(kernelID)/stat", "re") else { return false }
  defer { _ = unsafe fclose(file) }
  var buffer = [CChar](repeating: 0, count: 512)
  guard unsafe fgets(&buffer, CInt(buffer.count), file) != nil else { return false }
  // The name stands in parentheses and may hold anything, so the state follows the last one.
  guard let end = buffer.lastIndex(of: CChar(UInt8(ascii: ")"))) else { return false }
  return buffer[end + 2] == CChar(UInt8(ascii: "S"))
}
