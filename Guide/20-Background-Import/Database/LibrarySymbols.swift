import Glibc

/// A library loaded at run time, asked for its functions by name.
@safe struct LibrarySymbols {
  private let name: String
  private let handle: UnsafeMutableRawPointer

  /// Loads the library, as `dlopen(3)` finds it.
  ///
  /// - Throws: `LibraryError` with the dynamic linker's reason.
  init(name: String) throws(LibraryError) {
    guard let handle = unsafe dlopen(name, RTLD_NOW) else {
      throw LibraryError(name: name, reason: Self.lastError)
    }
    unsafe self.handle = unsafe handle
    self.name = name
  }

  /// The function of that name.
  ///
  /// The caller answers for `Function` being its type, a `@convention(c)` one.
  ///
  /// - Throws: `LibraryError` if the library does not have it.
  func function<Function>(_ symbol: String) throws(LibraryError) -> Function {
    guard let address = unsafe dlsym(handle, symbol) else {
      throw LibraryError(name: name, reason: Self.lastError)
    }
    precondition(MemoryLayout<Function>.size == MemoryLayout<Int>.size)
    return unsafe unsafeBitCast(address, to: Function.self)
  }

  private static var lastError: String {
    guard let text = unsafe dlerror() else { return "no reason given" }
    return unsafe String(cString: text)
  }
}
