import Glibc

/// The signals that end a run early, kept from ending the program before what was measured is written.
///
/// From its making to ``restore()`` a signal does nothing unless somebody takes it. One that was ignored
/// before, as `nohup` has it, stays ignored.
package struct EndingSignals {
  /// Those that are taken.
  package let numbers: [CInt]
  private let before: [sigaction]

  package init(_ candidates: [CInt] = [SIGINT, SIGTERM, SIGHUP]) {
    var numbers: [CInt] = []
    var before: [sigaction] = []
    for number in candidates {
      var old = sigaction()
      guard unsafe sigaction(number, nil, &old) == 0, !Self.ignores(old) else { continue }
      _ = signal(number, SIG_IGN)
      numbers.append(number)
      before.append(old)
    }
    self.numbers = numbers
    self.before = before
  }

  /// A signal does again what it did before.
  package func restore() {
    for (number, old) in zip(numbers, before) {
      var old = old
      _ = unsafe sigaction(number, &old, nil)
    }
  }

  private static func ignores(_ action: sigaction) -> Bool {
    let handler = unsafe unsafeBitCast(action.__sigaction_handler, to: Int.self)
    return unsafe handler == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
