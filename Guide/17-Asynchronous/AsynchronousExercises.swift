import Foundation
import FoundationNetworking
import Threading

extension AsynchronousChapter {
  static let solutions = [
    Solution("an operation that has finished when a child process has") { page in
      let pool = try ThreadPool(maximumThreads: 1)
      let queue = ThreadOperationQueue(name: "children", width: 3, pool: pool)
      let children = (1...3).map { ChildOperation(["/bin/sh", "-c", "exit \($0)"]) }
      try queue.add(contentsOf: children)
      queue.waitForAll()
      page.claim(
        "three children returned 1, 2 and 3",
        children.map(\.ending) == [.exited(code: 1), .exited(code: 2), .exited(code: 3)])
      page.claim("none of them had a thread that waited for it", pool.threadCount == 1)
      let nothing = ChildOperation(["/nowhere/program"])
      try queue.add(nothing)
      nothing.wait()
      page.claim("a program that is not there: the operation failed", nothing.error is FileError)
      pool.shutDown()
    },
    Solution("all pages that a page names") { page in
      let server = try LocalServer { request in
        switch request.page {
        case "index": request.answer(.page(Array("a\nb\nc".utf8), type: "text/plain"))
        case "broken": request.answer(.page(Array("endless\nnothing".utf8), type: "text/plain"))
        case "a", "b", "c": request.answer(.page(Array(request.page.utf8), type: "text/plain"))
        case "endless": request.answer(.endless)
        default: request.answer(.status(404))
        }
      }
      let pages = try fetchAll(namedBy: URL(string: server.address("index"))!)
      page.claim(
        "three pages", pages.map { String(decoding: $0, as: UTF8.self) } == ["a", "b", "c"])
      do {
        _ = try fetchAll(namedBy: URL(string: server.address("broken"))!)
        page.claim("one is missing: that is told", false)
      } catch let failure as ChapterFailure {
        page.claim("one is missing: that is told", failure.description.hasSuffix("status 404"))
      }
      let isQuiet = server.connections.wait(for: .seconds(10)) { $0 == 0 } != nil
      page.claim("and the others were given up", isQuiet)
      try server.end()
    },
  ]

  /// Runs a program as a child process, and has finished when that has.
  final class ChildOperation: ThreadOperation, @unchecked Sendable {
    private let words: [String]
    // SAFETY: written before `finish()`, read when the operation has finished.
    private(set) var ending: ProcessSource.Ending?

    init(_ words: [String]) {
      self.words = words
      super.init(name: words[0])
    }

    override var isAsynchronous: Bool { true }

    override func main() throws {
      let child = try ChildCommand(words)
      let source = try ProcessSource(child.processID) { [self] _, ending in
        self.ending = ending
        finish()
      }
      try ThreadRunLoop.service().add(source)
    }
  }

  /// The pages whose names, one a line, are on a page beside them.
  ///
  /// - Throws: what went wrong first; the other pages are given up then.
  static func fetchAll(namedBy index: URL) throws -> [Data] {
    let queue = ThreadOperationQueue(name: "pages", width: 4)
    let failure = Locked<(any Error)?>(nil)
    let pages = Locked<[Download]>([])
    @Sendable func fetch(_ download: Download) throws {
      download.addCompletion { [weak queue] download in
        guard let error = download.error else { return }
        failure.withLock { $0 = $0 ?? error }
        queue?.cancelAll()
      }
      try queue.add(download)
    }
    let list = Download(index)
    let spread = ClosureOperation(name: "spread") {
      let names = String(decoding: list.data, as: UTF8.self).split(separator: "\n")
      for name in names {
        let page = Download(URL(string: String(name), relativeTo: index)!)
        pages.withLock { $0.append(page) }
        try fetch(page)
      }
    }
    try spread.addDependency(list, onFailure: .cancel)
    try fetch(list)
    try queue.add(spread)
    queue.waitForAll()
    if let error = failure.withLock({ $0 }) { throw error }
    return pages.withLock { $0.map(\.data) }
  }
}
