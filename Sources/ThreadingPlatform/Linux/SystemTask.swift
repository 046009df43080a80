internal import CThreadingPlatform
internal import Glibc

/// What the kernel's files tell of the threads of this process, whoever started them.
package enum SystemTask {
  /// The kernel ids of all threads, in ascending order; some may have ended meanwhile. Empty where there
  /// is no `proc` file system.
  ///
  /// The kernel leaves threads out when others end while it lists them, so the list is made until it has
  /// nothing new, or a few times while threads begin without end.
  ///
  /// - Throws: when there is no descriptor or memory for that (`EMFILE`, `ENFILE`, `ENOMEM`).
  package static func identifiers() throws(ThreadingError) -> [UInt32] {
    var found = Set(try pass())
    if found.isEmpty { return [] }
    found.insert(SystemThread.currentID)
    for _ in 1...4 {
      let before = found.count
      found.formUnion(try pass())
      if found.count == before { break }
    }
    return found.sorted()
  }

  private static func pass() throws(ThreadingError) -> [UInt32] {
    guard let folder = unsafe opendir("/proc/self/task") else {
      try SystemFile.throwIfUsedUp("opendir", errno)
      return []
    }
    defer { _ = unsafe closedir(folder) }
    var found: [UInt32] = []
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if let id = UInt32(name) { found.append(id) }
    }
    return found
  }

  /// The kernel's letter for what a thread is doing ("R", "S", "D", ...); nil when it has ended.
  ///
  /// - Throws: as ``identifiers()``.
  package static func stateLetter(of thread: UInt32) throws(ThreadingError) -> Character? {
    // The name stands in parentheses and may hold anything, so the state follows the last one.
    guard let text = try SystemFile.textIfThere(of: "/proc/self/task/\(thread)/stat"),
      let end = text.lastIndex(of: ")")
    else { return nil }
    return text[text.index(after: end)...].first { $0 != " " }
  }

  /// The signals that a thread blocks; nil when it has ended.
  ///
  /// - Throws: as ``identifiers()``.
  package static func blockedSignals(
    of thread: UInt32
  ) throws(ThreadingError) -> Set<CInt>? {
    guard let text = try SystemFile.textIfThere(of: "/proc/self/task/\(thread)/status") else {
      return nil
    }
    for line in text.split(separator: "\n") where line.hasPrefix("SigBlk:") {
      let digits = line.dropFirst("SigBlk:".count).drop { $0 == "\t" || $0 == " " }
      guard let mask = UInt64(digits, radix: 16) else { return nil }
      return Set((0..<64).filter { mask >> $0 & 1 == 1 }.map { CInt($0 + 1) })
    }
    return nil
  }

  /// The processor time that a thread has used so far; nil when it has ended.
  package static func processorTime(of thread: UInt32) -> Duration? {
    let nanoseconds = ctp_thread_cpu_time(thread)
    return nanoseconds < 0 ? nil : .nanoseconds(nanoseconds)
  }
}

/// What an address of code belongs to.
package struct CodePlace: Sendable {
  /// The file that the code was loaded from.
  package let file: String
  /// Where the file lies in memory.
  package let base: UInt
  /// The nearest exported symbol at or below the address, and its own address.
  package let symbol: (name: String, address: UInt)?

  /// What the dynamic linker knows of an address; nil for code of no file.
  package init?(_ address: UInt) {
    var file: UnsafePointer<CChar>?
    var symbol: UnsafePointer<CChar>?
    var base: UInt = 0
    var symbolAddress: UInt = 0
    guard unsafe ctp_find_code(address, &file, &base, &symbol, &symbolAddress),
      let file = unsafe file
    else { return nil }
    unsafe self.file = String(cString: file)
    self.base = base
    unsafe self.symbol = symbol.map { unsafe (String(cString: $0), symbolAddress) }
  }
}
