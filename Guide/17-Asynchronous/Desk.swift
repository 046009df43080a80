import Threading

extension AsynchronousChapter {
  /// What the chapter's server answers: a few pages, some of which wait for something.
  final class Desk: Sendable {
    private let kept = Locked<[LocalRequest]>([])
    private let asked = Locked<[String]>([])

    /// The pages that were asked for.
    var pagesAsked: [String] { asked.withLock { $0 } }

    /// Waits until a page has been asked for.
    func waitForRequest(of page: String) {
      _ = asked.withLock(when: { $0.contains(page) }, for: .seconds(20)) { _ in }
    }

    static let picture = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }

    func answer(_ request: LocalRequest) {
      asked.withLock { $0.append(request.page) }
      switch request.page {
      case "picture": request.answer(.page(Self.picture, type: "application/octet-stream"))
      case "later": kept.withLock { $0.append(request) }
      case "one", "two", "three": answerTogether(request)
      case "endless": request.answer(.endless)
      default: request.answer(.status(404))
      }
    }

    /// Answers the requests that were kept.
    func answerKept() {
      let requests = kept.withLock(when: { !$0.isEmpty }, for: .seconds(10)) { kept in
        defer { kept = [] }
        return kept
      }
      for request in requests ?? [] {
        request.answer(.page(Self.picture, type: "application/octet-stream"))
      }
    }

    /// Answers three requests when all of them are there, each bit by bit.
    private func answerTogether(_ request: LocalRequest) {
      let requests = kept.withLock { kept in
        kept.append(request)
        guard kept.count == 3 else { return [LocalRequest]() }
        defer { kept = [] }
        return kept
      }
      for request in requests {
        request.answer(.slowly(Self.picture, type: "application/octet-stream"))
      }
    }
  }
}
