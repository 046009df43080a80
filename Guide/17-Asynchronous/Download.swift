import Foundation
import FoundationNetworking
import Threading

extension AsynchronousChapter {
  // snippet: download
  /// Fetches a page from a web server. It keeps no thread while it waits for the network.
  final class Download: ThreadOperation, @unchecked Sendable {
    private let url: URL
    // SAFETY: written before `finish()`, read when the operation has finished.
    private(set) var data = Data()

    init(_ url: URL) {
      self.url = url
      super.init(name: "download \(url.lastPathComponent)")
    }

    override var isAsynchronous: Bool { true }

    override func main() {
      let task = session.dataTask(with: url) { [self] data, response, error in
        do {
          self.data = try checked(data, response, error, from: url)
          finish()
        } catch {
          finish(throwing: error)
        }
      }
      // In turn with answers: a task that is cancelled while its answer is handed over ends the program.
      addCancellationHandler { _ in session.delegateQueue.addOperation { task.cancel() } }
      task.resume()
    }
  }
  // end

  /// A session that keeps nothing on disk, and gives up where a server says nothing for 20 seconds.
  static let session: URLSession = {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 20
    return URLSession(configuration: configuration)
  }()

  // snippet: checked
  /// What a server has sent.
  ///
  /// - Throws: `ChapterFailure` if it could not be asked, or answered that it has no such page.
  static func checked(
    _ data: Data?, _ response: URLResponse?, _ error: (any Error)?, from url: URL
  ) throws(ChapterFailure) -> Data {
    if let failure = error as? ChapterFailure { throw failure }
    if let error {
      throw ChapterFailure("cannot fetch \(url): \(FailureReport.why(error))", .noInput)
    }
    if let response = response as? HTTPURLResponse, response.statusCode != 200 {
      throw ChapterFailure("cannot fetch \(url): status \(response.statusCode)", .noInput)
    }
    return data ?? Data()
  }
  // end
}
