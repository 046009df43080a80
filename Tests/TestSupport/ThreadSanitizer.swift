import Glibc

/// The thread sanitizer, under which some things are not as they are without it: it gives threads
/// larger stacks and reserves terabytes of address space.
public enum ThreadSanitizer {
  /// Whether this process runs under it.
  public static let isActive = unsafe dlsym(nil, "__tsan_init") != nil
}
