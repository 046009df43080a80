/// What somebody asks of a ``LocalServer``. It is answered once, at any time and from any thread.
final class LocalRequest: Sendable {
  /// What is asked for: of `http://127.0.0.1:8080/news/1` it is `news/1`.
  let page: String

  private let send: @Sendable (Answer) -> Void

  init(page: String, send: @escaping @Sendable (Answer) -> Void) {
    self.page = page
    self.send = send
  }

  /// What a server has to say.
  enum Answer: Sendable {
    /// A page, with its type, such as `text/plain`.
    case page([UInt8], type: String)

    /// A page that is sent in small pieces, one each few milliseconds, as over a slow line.
    case slowly([UInt8], type: String)

    /// A page that never ends.
    case endless

    /// Nothing but a status, such as 404.
    case status(Int)
  }

  /// Answers. Nothing happens if whoever asked has gone.
  func answer(_ answer: Answer) { send(answer) }
}
