import Foundation
import FoundationNetworking
import Threading

extension AsynchronousChapter {
  /// How far a download was when `start()` had returned, and what it has fetched.
  static func byHand(
    _ url: URL, _ desk: Desk
  ) throws -> (state: ThreadOperation.State, data: Data) {
    // snippet: byhand
    let download = Download(url)
    try download.start()  // returns when main() has returned
    let state = download.state  // executing
    desk.answerKept()  // now the server answers
    download.wait()
    // end
    return (state, download.data)
  }

  static func threeAtOnce(
    _ urls: [URL], show: () -> Void
  ) throws -> (data: [Data], threads: Int) {
    // snippet: queue
    let pool = try ThreadPool(maximumThreads: 1)
    let queue = ThreadOperationQueue(name: "downloads", width: 3, pool: pool)
    let downloads = urls.map { Download($0) }
    try queue.add(contentsOf: downloads)
    // end
    while !queue.waitForAll(for: .milliseconds(20)) { show() }
    let threads = pool.threadCount
    pool.shutDown()
    return (downloads.map(\.data), threads)
  }

  static func byAsync(_ url: URL) throws -> Int {
    let size = Locked(0)
    // snippet: async
    let download = AsyncOperation(name: "picture") {
      let (data, response) = try await session.data(from: url)
      let picture = try checked(data, response, nil, from: url)
      size.withLock { $0 = picture.count }
    }
    try ThreadOperationQueue(name: "pictures").add(download)
    download.wait()
    // end
    if let error = download.error { _ = try checked(nil, nil, error, from: url) }
    return size.withLock { $0 }
  }

  struct Cancelled {
    var error: (any Error)?
    var isGone = false
    var asked: [String] = []
    var isSecondCancelled = false
  }

  static func cancel(_ server: LocalServer, _ desk: Desk) throws -> Cancelled {
    let queue = ThreadOperationQueue(name: "downloads", width: 1)
    let endless = URL(string: server.address("endless"))!
    let picture = URL(string: server.address("picture"))!
    let before = desk.pagesAsked.count
    // snippet: cancel
    let first = Download(endless)  // never ends by itself
    let second = Download(picture)  // waits for its turn
    try queue.add(contentsOf: [first, second])
    desk.waitForRequest(of: "endless")
    queue.cancelAll()
    queue.waitForAll()
    // end
    var isSecondCancelled = false
    if case .cancelled = second.outcome { isSecondCancelled = true }
    let isGone = server.connections.wait(for: .seconds(10)) { $0 == 0 } != nil
    return Cancelled(
      error: first.error, isGone: isGone, asked: Array(desk.pagesAsked.dropFirst(before)),
      isSecondCancelled: isSecondCancelled)
  }

  static func error(_ address: String) throws -> String {
    let download = Download(URL(string: address)!)
    try download.start()
    download.wait()
    return download.error.map { "\($0)" } ?? "no error"
  }

  /// The address of a server that has ended, so that nobody listens there.
  static func addressOfNobody() throws -> String {
    let server = try LocalServer { $0.answer(.status(404)) }
    try server.end()
    return server.address("picture")
  }
}
