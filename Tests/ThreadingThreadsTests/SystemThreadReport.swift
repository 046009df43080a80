import Glibc
import ThreadingPlatform
import ThreadingThreads

/// What tests ask of the system directly.
enum SystemThreadReport {
  static func line(_ text: String) { SystemThread.report(text) }
  /// Gives a scope that does not wait time to be left.
  static func nap() { SystemThread.sleep(until: .now.advanced(by: .milliseconds(3))) }
  static func unblockAllSignals() {
    var none = sigset_t()
    _ = unsafe sigemptyset(&none)
    _ = unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
  }
  static func leave(_ code: Int32) -> Never { exit(code) }
  static func breakOff() -> Never { pthread_exit(nil) }

  /// A small file of the `proc` file system, which is empty to `stat`.
  static func text(of path: String) -> String {
    guard let file = unsafe fopen(path, "re") else { return "" }
    defer { _ = unsafe fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 14)
    while true {
      let count = unsafe fread(&buffer, 1, buffer.count, file)
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }

  /// A field of a thread's `status` file, such as "SigBlk".
  static func status(_ field: String, of thread: ThreadHandle) -> String? {
    let lines = text(of: "/proc/self/task/\(thread.kernelID)/status").split(separator: "\n")
    let line = lines.first { $0.hasPrefix(field + ":") }
    return line?.dropFirst(field.count + 1).split(whereSeparator: \.isWhitespace).first.map(
      String.init)
  }

  /// A field of a thread's `stat` file by its number in proc(5), from 3 on.
  static func stat(_ number: Int, of thread: ThreadHandle) -> Int? {
    let text = text(of: "/proc/self/task/\(thread.kernelID)/stat")
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[text.index(after: end)...].split(separator: " ")
    return number - 3 < fields.count ? Int(fields[number - 3]) : nil
  }

  /// Whether the kernel has the thread waiting for something.
  static func isAsleep(_ thread: ThreadHandle) -> Bool {
    guard let file = unsafe fopen("/proc/self/task/\(thread.kernelID)/stat", "re") else {
      return false
    }
    defer { _ = unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard unsafe fgets(&line, CInt(line.count), file) != nil else { return false }
    let text = String(
      decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // The state follows the name, which is in parentheses and may hold anything.
    return text.split(separator: ")").last?.hasPrefix(" S") == true
  }
}

/// Thread-local storage that is not this package's: a `pthread` key with a slow destructor.
enum ForeignStorage {
  private final class Ending {
    let body: @Sendable () -> Void
    init(body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let code = unsafe pthread_key_create(&key) { value in
      guard let value = unsafe value else { return }
      // Time for a join that does not wait for destructors to return before they have run.
      SystemThread.sleep(until: .now.advanced(by: .milliseconds(2)))
      unsafe Unmanaged<Ending>.fromOpaque(value).takeRetainedValue().body()
    }
    precondition(code == 0)
    return key
  }()

  /// Has `body` called by a destructor of the calling thread.
  static func onThreadEnd(_ body: @escaping @Sendable () -> Void) {
    _ = unsafe pthread_setspecific(key, Unmanaged.passRetained(Ending(body: body)).toOpaque())
  }

  /// Has `body` called when the calling thread ends, as a C++ thread-local variable's destructor would
  /// be: before those of all `pthread` keys.
  static func beforeAllDestructors(_ body: @escaping @Sendable () -> Void) {
    typealias Destructor = @convention(c) (UnsafeMutableRawPointer?) -> Void
    typealias Register =
      @convention(c) (
        Destructor, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
      ) -> CInt
    guard let symbol = unsafe dlsym(nil, "__cxa_thread_atexit_impl") else {
      fatalError("the C library has no __cxa_thread_atexit_impl")
    }
    let register = unsafe unsafeBitCast(symbol, to: Register.self)
    let ending = unsafe Unmanaged.passRetained(Ending(body: body)).toOpaque()
    let code = unsafe register(
      { value in
        guard let value = unsafe value else { return }
        unsafe Unmanaged<Ending>.fromOpaque(value).takeRetainedValue().body()
      }, ending, UnsafeMutableRawPointer(mutating: #dsohandle))
    precondition(code == 0)
  }
}
