internal import CThreadingPlatform
internal import Glibc

/// The memory that this process holds.
package struct ProcessMemory: Equatable, Sendable {
  /// Bytes of memory that its pages occupy.
  package let residentBytes: Int64
  /// Bytes of addresses that are given out, whether there is memory behind them or not.
  package let addressBytes: Int64
  /// Bytes that the C library's allocator has given out and not got back.
  package let heapBytes: Int64

  /// The figures of this moment; 0 for a figure that the system does not tell.
  package static func now() -> ProcessMemory {
    let pages = (SystemFile.text(of: "/proc/self/statm") ?? "").split(separator: " ").map {
      Int64($0) ?? 0
    }
    let pageSize = Int64(sysconf(CInt(_SC_PAGESIZE)))
    return ProcessMemory(
      residentBytes: (pages.count > 1 ? pages[1] : 0) * pageSize,
      addressBytes: (pages.first ?? 0) * pageSize, heapBytes: Int64(ctp_heap_in_use()))
  }

  /// Gives what the allocator holds free back to the system.
  package static func returnFreeMemory() { ctp_heap_trim() }
}
