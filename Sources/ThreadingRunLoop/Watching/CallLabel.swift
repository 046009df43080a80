internal import Synchronization
internal import ThreadingLocks

/// What its user calls something that a loop calls, as a number that a loop notes in one store.
///
/// The watchdog's thread may not follow references to what is being called, which may be gone by then. So the
/// texts are kept in one table for the process, each once, and never removed. The numbers have 24 bits: what
/// comes after so many texts has none.
struct CallLabel: ~Copyable, Sendable {
  /// The place in the table, from 1; 0 for none. relaxed, everywhere: whoever gets the number takes the
  /// table's lock to read the text.
  private let place = Atomic<UInt32>(0)

  var number: UInt32 { place.load(ordering: .relaxed) }

  var text: String? {
    get { Self.text(number) }
    nonmutating set { place.store(newValue.map(Self.number(of:)) ?? 0, ordering: .relaxed) }
  }

  private struct Table {
    var numbers: [String: UInt32] = [:]
    var texts: [String] = []
  }

  private static let table = Locked(Table())

  private static func number(of text: String) -> UInt32 {
    table.withLock { table in
      if let known = table.numbers[text] { return known }
      guard table.texts.count < 1 << 24 - 1 else { return 0 }
      table.texts.append(text)
      let number = UInt32(table.texts.count)
      table.numbers[text] = number
      return number
    }
  }

  /// The text of a number; nil for 0.
  static func text(_ number: UInt32) -> String? {
    number == 0 ? nil : table.withLock { $0.texts[Int(number) - 1] }
  }
}
