import Foundation
import TestSupport
import Testing

/// What must not compile, tried with the compiler that built these tests, against the modules that
/// they are linked with.
@Suite("What does not compile", .endsInTime)
struct CompilationTests {
  @Test("a lock in use in plain code compiles: the others fail for their reasons, not for this")
  func control() throws {
    let output = try Compiler.check(
      """
      final class Account: Sendable {
        let mutex = FastMutex()
        let names = Locked<[String]>([])
        let fair = FairMutex()
      }
      func useInPlainCode(_ account: Account) {
        account.mutex.lock()
        account.mutex.unlock()
        account.names.withLock { $0.append("first") }
        account.fair.lock()
        account.fair.unlock()
      }
      func useInAsyncCode(_ account: Account) async {
        account.mutex.withLock {}
        account.names.withLock { $0.append("first") }
        account.fair.withLock {}
        await Task.yield()
      }
      """)
    #expect(output.errors.isEmpty, "\(output.text)")
  }

  @Test(
    "no lock can be taken or given back by hand in async code",
    arguments: [
      ("FastMutex", "lock()"), ("FastMutex", "unlock()"), ("FastMutex", "tryLock()"),
      ("RecursiveLock", "lock()"), ("RecursiveLock", "unlock()"), ("FairMutex", "lock()"),
      ("FairMutex", "unlock()"), ("ReadWriteLock", "readLock()"), ("ReadWriteLock", "writeLock()"),
      ("ReadWriteLock", "readUnlock()"), ("ReadWriteLock", "writeUnlock()"),
      ("ReadWriteLock", "upgradableLock()"), ("ConditionLock<Int>", "lock()"),
      ("ConditionLock<Int>", "unlock()"), ("ConditionLock<Int>", "lock(when: 1)"),
      ("PosixSpinLock", "lock()"), ("PosixSpinLock", "unlock()"),
    ].chunked(into: 6))
  func noLockAcrossSuspensions(calls: [(type: String, call: String)]) throws {
    // One function a call, so that each has its error.
    let functions = calls.enumerated().map { index, item in
      "func use\(index)(_ lock: borrowing \(item.type)) async { _ = lock.\(item.call) }"
    }
    let output = try Compiler.check(functions.joined(separator: "\n"))
    for (index, item) in calls.enumerated() {
      #expect(
        output.errors.contains {
          $0.line == index + 1 && $0.message.contains("is unavailable from asynchronous contexts")
        }, "\(item): \(output.text)")
    }
  }

  @Test("a lock cannot be held across a suspension")
  func noAwaitInside() throws {
    let output = try Compiler.check(
      """
      func rest() async {}
      func first(_ mutex: borrowing FastMutex) async { await mutex.withLock { await rest() } }
      func second(_ value: borrowing Locked<Int>) async { await value.withLock { _ in await rest() } }
      func third(_ lock: borrowing ReadWriteLock) async { await lock.withReadLock { await rest() } }
      func fourth(_ lock: FairMutex) async { await lock.withLock { await rest() } }
      """)
    for line in 2...5 {
      #expect(
        output.errors.contains {
          $0.line == line && $0.message.contains("expecting synchronous function type")
        }, "\(line): \(output.text)")
    }
  }

  @Test("a lock cannot be copied, nor be in what can be copied")
  func noCopies() throws {
    let kept = try Compiler.check(
      """
      struct Account { let mutex = FastMutex() }
      struct Cache { let names = Locked<[String]>([]) }
      func keep<Value>(_ value: Value) {}
      func give(_ lock: borrowing ReadWriteLock) { keep(lock) }
      func list(_ lock: consuming RecursiveLock) -> [Any] { [lock] }
      """)
    for (line, reason) in [
      (1, "non-Copyable type 'FastMutex'"), (2, "non-Copyable type 'Locked<[String]>'"),
      (4, "conform to 'Copyable'"), (5, "cannot convert value of type 'RecursiveLock'"),
    ] {
      #expect(
        kept.errors.contains { $0.line == line && $0.message.contains(reason) },
        "\(line): \(kept.text)")
    }
    // Found by a later pass of the compiler, which only comes when there are no errors before it.
    let moved = try Compiler.check(
      """
      func use(_ mutex: borrowing FastMutex) {}
      func copy() {
        let mutex = FastMutex()
        let other = mutex
        use(other)
        use(mutex)
      }
      """)
    #expect(
      moved.errors.contains { $0.message.contains("'mutex' used after consume") },
      "\(moved.text)")
  }

  @Test("a condition takes a FastMutex, and no lock that a wait could not give back")
  func conditionsAndLocks() throws {
    let output = try Compiler.check(
      """
      func use(_ condition: borrowing ConditionVariable, _ mutex: borrowing FastMutex) {
        condition.wait(mutex)
      }
      func useFair(_ condition: borrowing ConditionVariable, _ mutex: FairMutex) {
        condition.wait(mutex)
      }
      func useRecursive(_ condition: borrowing ConditionVariable, _ lock: borrowing RecursiveLock) {
        condition.wait(lock)
      }
      """)
    #expect(!output.errors.contains { $0.line == 2 }, "\(output.text)")
    for (line, type) in [(5, "FairMutex"), (8, "RecursiveLock")] {
      #expect(
        output.errors.contains {
          $0.line == line && $0.message.contains("cannot convert value of type '\(type)'")
        }, "\(line): \(output.text)")
    }
  }

  @Test("what is not Sendable cannot leave its lock")
  func noEscape() throws {
    let output = try Compiler.check(
      """
      final class Account { var balance = 0 }
      final class Bank { var account: Account? }
      func keep(_ account: borrowing Locked<Account>, in bank: Bank) {
        account.withLock { bank.account = $0 }
      }
      """)
    #expect(output.errors.contains { $0.line == 4 }, "\(output.text)")
  }

  @Test("nor can it be returned, nor a part of it")
  func noReturn() throws {
    let output = try Compiler.check(
      """
      final class Account { var balance = 0 }
      func whole(_ account: borrowing Locked<Account>) -> Account { account.withLock { $0 } }
      func later(_ account: borrowing Locked<Account>) -> Account {
        account.withLock { let found = $0; return found }
      }
      func part(_ accounts: borrowing Locked<[Account]>) -> Account { accounts.withLock { $0[0] } }
      func awaited(_ accounts: borrowing Locked<[Account]>) -> Account {
        accounts.withLock(when: { !$0.isEmpty }) { $0[0] }
      }
      func tried(_ account: borrowing Locked<Account>) -> Account? {
        account.withLockIfAvailable { $0 }
      }
      func timed(_ account: borrowing Locked<Account>) -> Account? {
        account.withLock(for: .seconds(1)) { $0 }
      }
      """)
    for line in [2, 4, 6, 8, 11, 14] {
      #expect(
        output.errors.contains { $0.line == line && $0.message.contains("cannot be returned") },
        "\(line): \(output.text)")
    }
  }

  @Test("what is new, or was replaced, can be returned and sent on")
  func returnOfOthers() throws {
    let output = try Compiler.check(
      """
      final class Account { var balance = 0 }
      func send(_ account: sending Account) {}
      func replace(_ account: borrowing Locked<Account>) {
        send(account.withLock { account in
          let former = account
          account = Account()
          return former
        })
      }
      func create(_ account: borrowing Locked<Account>) { send(account.withLock { _ in Account() }) }
      """)
    #expect(output.errors.isEmpty, "\(output.text)")
  }
}

extension Array {
  fileprivate func chunked(into size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
