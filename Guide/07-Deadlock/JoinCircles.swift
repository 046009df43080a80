import Threading

extension DeadlockChapter {
  /// Two threads that join each other.
  ///
  /// - Returns: the error of the one that came second.
  static func joinCircle() throws -> String? {
    // snippet: circle
    let partners = Locked<[PosixThread<String?, Never>]>([])
    let bothAreThere = CountdownLatch(1)
    func startPartner(of index: Int) throws -> PosixThread<String?, Never> {
      try PosixThread.start {
        bothAreThere.wait()
        let other = partners.withLock { $0[index] }
        do throws(ThreadingError) {
          return try other.join()
        } catch {
          return error.codeName
        }
      }
    }
    // end
    let one = try startPartner(of: 1)
    let other = try startPartner(of: 0)
    partners.withLock { $0 = [one, other] }
    bothAreThere.countDown()
    // The one that is refused returns the error, which is what the other one's join then brings.
    let errors = [try one.join(), try other.join()]
    partners.withLock { $0 = [] }
    return errors[0] == errors[1] ? errors[0] : nil
  }

  static func joinOneself() throws -> String? {
    let me = Locked<PosixThread<String?, Never>?>(nil)
    let isKnown = CountdownLatch(1)
    let thread = try PosixThread.start { () -> String? in
      isKnown.wait()
      do throws(ThreadingError) {
        return try me.withLock { $0 }?.join() ?? nil
      } catch {
        return error.codeName
      }
    }
    me.withLock { $0 = thread }
    isKnown.countDown()
    defer { me.withLock { $0 = nil } }
    return try thread.join()
  }
}
