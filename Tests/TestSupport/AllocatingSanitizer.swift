import Glibc

/// The sanitizers that bring an allocator of their own, under which memory cannot be counted.
public enum AllocatingSanitizer {
  /// Whether this process runs under one.
  public static let isActive =
    unsafe ThreadSanitizer.isActive || dlsym(nil, "__asan_init") != nil
}
