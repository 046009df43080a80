import Testing

@testable import benchmarks

@Suite("The command line")
struct OptionsTests {
  @Test("no arguments run everything as a table")
  func defaults() throws {
    let options = try Options([])
    #expect(options == Options())
    #expect(options.action == .run)
    #expect(options.filter == nil)
    #expect(options.format == .table)
  }

  @Test("every option is taken, with its value next or after an equals sign")
  func allOptions() throws {
    let spaced = try Options(["--filter", "lock/.*", "--samples", "31", "--format", "json"])
    let joined = try Options(["--filter=lock/.*", "--samples=31", "--format=json"])
    #expect(spaced == joined)
    #expect(spaced.filter == "lock/.*")
    #expect(spaced.samples == 31)
    #expect(spaced.format == .json)
    #expect(try Options(["--filter=a=b"]).filter == "a=b")
    #expect(try Options(["--smoke"]).isSmoke)
  }

  @Test("help wins over list, whichever comes first")
  func actions() throws {
    #expect(try Options(["--list"]).action == .list)
    #expect(try Options(["-h"]).action == .help)
    #expect(try Options(["--help", "--list"]).action == .help)
    #expect(try Options(["--list", "--help"]).action == .help)
  }

  @Test(
    "a bad argument is named with its value and what is allowed",
    arguments: [
      (["--samples", "0"], "--samples: \"0\" is refused; allowed is a whole number from 1 to"),
      (["--samples=1001"], "--samples: \"1001\" is refused; allowed is a whole number"),
      (["--samples", "+5"], "--samples: \"+5\" is refused; allowed is a whole number"),
      (["--samples", "7.5"], "--samples: \"7.5\" is refused; allowed is a whole number"),
      (["--samples="], "--samples: \"\" is refused; allowed is a whole number"),
      (["--samples", "99999999999999999999"], "--samples: \"99999999999999999999\" is refused"),
      (["--samples"], "--samples: no value given; allowed is a whole number from 1 to 1000"),
      (["--format", "xml"], "--format: \"xml\" is refused; allowed is table, tsv, json"),
      (["--filter", "("], "--filter: \"(\" is refused; allowed is a regular expression"),
      (["--list=yes"], "--list: \"yes\" is refused; allowed is no value"),
      (["--fast"], "argument: \"--fast\" is refused; allowed is --list, --filter, --samples"),
      (["lock"], "argument: \"lock\" is refused; allowed is --list, --filter, --samples"),
      ([""], "argument: \"\" is refused"),
      (["--list", "--list"], "--list: \"--list\" is refused; allowed is to give the option once"),
    ])
  func refusals(arguments: [String], message: String) throws {
    let error = #expect(throws: UsageError.self) { try Options(arguments) }
    let text = try #require(error).description
    #expect(text.hasPrefix(message), "\(text)")
  }
}
