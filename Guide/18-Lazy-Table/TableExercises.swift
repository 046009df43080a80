import Foundation
import Threading

extension TableChapter {
  static let solutions = [
    Solution("search while one types") { page in
      let titles = ["Ships and cranes", "Shipwrights wanted", "Fog", "The whale", "Old ships win"]
      let field = SearchField(titles)
      for text in ["s", "sh", "ship"] { try field.type(text) }
      field.waitForAnswer()
      page.claim("the last search was answered", field.answers.last?.text == "ship")
      page.claim(
        "with three titles",
        field.answers.last?.titles == ["Ships and cranes", "Shipwrights wanted", "Old ships win"])
      page.claim("and no other, although three were begun", field.answers.count == 1)
    },
    Solution("one picture for many rows") { page in
      let site = try Site()
      let server = try LocalServer { site.answer($0) }
      let store = PictureStore()
      let answers = Locked<[Thumbnail?]>([])
      let url = URL(string: server.address("images/7.bmp"))!
      for _ in 1...10 {
        try store.get(url) { picture in answers.withLock { $0.append(picture) } }
      }
      site.open()
      let all = answers.withLock(when: { $0.count == 10 }, for: .seconds(20)) { $0 }
      let picture = try Thumbnail(Data(Thumbnail.file(7)))
      page.claim("ten rows have it", all?.allSatisfy { $0 == picture } == true)
      page.claim("the server was asked once", site.asked == [7])
      try server.end()
    },
  ]

  protocol SearchDelegate: AnyObject, Sendable {
    func search(for text: String, didFind titles: [String])
  }

  final class Search: ReportingOperation<any SearchDelegate>, @unchecked Sendable {
    private let text: String
    private let titles: [String]

    init(_ text: String, in titles: [String], delegate: any SearchDelegate) {
      self.text = text
      self.titles = titles
      super.init(delegate: delegate, on: .main, name: "search for \(text)")
    }

    override func main() throws {
      let found = try titles.filter { title in
        try checkCancellation()
        return title.lowercased().contains(text)
      }
      tell { [text] in $0.search(for: text, didFind: found) }
    }
  }

  /// Where the reader types. Each letter begins a search and gives up the one before.
  // SAFETY of @unchecked: used on the main thread alone.
  final class SearchField: SearchDelegate, @unchecked Sendable {
    private(set) var answers: [(text: String, titles: [String])] = []
    private let titles: [String]
    private let queue = ThreadOperationQueue(name: "search", width: 1)
    private let isAnswered = ExitFlag()
    private var search: Search?
    private var text = ""

    init(_ titles: [String]) { self.titles = titles }

    func type(_ text: String) throws {
      search?.cancel()
      self.text = text
      let search = Search(text, in: titles, delegate: self)
      self.search = search
      try queue.add(search)
    }

    /// A search that had ended before the next letter could not be cancelled any more.
    func search(for text: String, didFind titles: [String]) {
      guard text == self.text else { return }
      answers.append((text, titles))
      isAnswered.set()
    }

    func waitForAnswer() { ThreadRunLoop.main.run(until: isAnswered) }
  }

  /// Pictures by their addresses. One that several ask for is fetched once.
  final class PictureStore: Sendable {
    private let loads = Locked<[URL: Download]>([:])
    private let queue = ThreadOperationQueue(name: "pictures", width: 2)

    /// Gives `body` the picture, or nil if there is none, when it is there; at once if it is there.
    func get(_ url: URL, then body: @escaping @Sendable (Thumbnail?) -> Void) throws {
      let (load, isNew) = loads.withLock { loads in
        if let load = loads[url] { return (load, false) }
        let load = Download(url)
        loads[url] = load
        return (load, true)
      }
      load.addCompletion { [unowned load] _ in body(try? Thumbnail(load.data)) }
      if isNew { try queue.add(load) }
    }
  }
}
