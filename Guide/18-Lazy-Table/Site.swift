import Foundation
import Threading

extension TableChapter {
  /// What the chapter's server has: the feed, its pictures, and pages that are no feeds. It keeps requests
  /// for pictures until it is opened.
  final class Site: Sendable {
    private struct State {
      var isOpen = false
      var kept: [LocalRequest] = []
      var asked: [Int] = []
    }

    private let state = Locked(State())
    private let feed: [UInt8]

    init() throws {
      guard let path = Bundle.module.path(forResource: "harbour", ofType: "rss") else {
        throw FileError(action: "find", path: "harbour.rss", reason: "build the guide again")
      }
      feed = try InputFile.bytes(of: path)
    }

    /// The numbers of the pictures that were asked for.
    var asked: [Int] { state.withLock { $0.asked } }

    func answer(_ request: LocalRequest) {
      let page = request.page
      switch page {
      case "harbour.rss": request.answer(.page(feed, type: "application/rss+xml"))
      case "cut.rss": request.answer(.page(Array(feed.prefix(900)), type: "application/rss+xml"))
      case "page.html": request.answer(.page(Array("<html></html>".utf8), type: "text/html"))
      case _ where page.hasPrefix("images/"):
        guard let number = Int(page.dropFirst(7).prefix { $0.isNumber }) else { fallthrough }
        let isOpen = state.withLock { state in
          state.asked.append(number)
          if !state.isOpen { state.kept.append(request) }
          return state.isOpen
        }
        if isOpen { Self.answer(request, number) }
      default: request.answer(.status(404))
      }
    }

    /// Waits until so many pictures have been asked for.
    func waitForRequests(_ count: Int) {
      _ = state.withLock(when: { $0.asked.count >= count }, for: .seconds(20)) { _ in }
    }

    /// Answers what was kept, and from now on at once.
    func open() {
      let kept = state.withLock { state in
        state.isOpen = true
        defer { state.kept = [] }
        return zip(state.kept, state.asked)
      }
      for (request, number) in kept { Self.answer(request, number) }
    }

    private static func answer(_ request: LocalRequest, _ number: Int) {
      request.answer(.page(Thumbnail.file(number), type: "image/bmp"))
    }
  }
}
