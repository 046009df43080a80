import BenchmarkSupport
import TestSupport
import Testing

@testable import benchmarks

@Suite("The command line", .endsInTime)
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
    #expect(try Options(["--quick"]).isQuick)
    #expect(try Options(["--scale"]).scales)
    #expect(try Options(["--threads", "1,16"]).threads == [1, 16])
    #expect(try Options(["--threads=256"]).threads == [256])
    let files = try Options([
      "--save=a", "--compare", "b", "--threshold=1.5", "--report=c", "--native=d",
    ])
    #expect(files.save == "a")
    #expect(files.compare == "b")
    #expect(files.threshold == 1.5)
    #expect(files.report == "c")
    #expect(files.native == "d")
    #expect(try Options(["--gate", "e"]).gate == "e")
  }

  @Test("the plan is that of the most hurried option, with the samples that were asked for")
  func plans() throws {
    #expect(try Options([]).plan == .measuring(samples: Options.usualSamples))
    #expect(try Options(["--samples=3"]).plan == .measuring(samples: 3))
    #expect(try Options(["--quick"]).plan == .quick(samples: Options.quickSamples))
    #expect(try Options(["--gate=x", "--samples=9"]).plan == .quick(samples: 9))
    #expect(try Options(["--smoke", "--gate=x"]).plan == .smoke)
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
      (["--threads", "0"], "--threads: \"0\" is refused; allowed is whole numbers from 1"),
      (["--threads", "2,,3"], "--threads: \"2,,3\" is refused; allowed is whole numbers"),
      (["--threads", "2,2"], "--threads: \"2,2\" is refused; allowed is whole numbers"),
      (["--threads", "257"], "--threads: \"257\" is refused; allowed is whole numbers"),
      (["--threads", "-1"], "--threads: \"-1\" is refused; allowed is whole numbers"),
      (["--threshold", "1"], "--threshold: \"1\" is refused; allowed is a number from 1.01"),
      (["--threshold", "nan"], "--threshold: \"nan\" is refused; allowed is a number from"),
      (["--threshold=2"], "--threshold: \"2.0\" is refused; allowed is only with --compare"),
      (["--save", "--quick"], "--save: no value given; allowed is the name of a file"),
      (["--save="], "--save: \"\" is refused; allowed is the name of a file"),
      (["--compare"], "--compare: no value given; allowed is the name of a file"),
      (["--scale", "--gate", "x"], "--scale: \"--gate\" is refused; allowed is one of the two"),
      (["--scale", "--save=x"], "--scale: \"--save\" is refused; allowed is one of the two"),
      (["--gate=x", "--compare=y"], "--gate: \"--compare\" is refused; allowed is one of the two"),
      (["--gate=x", "--threads=2"], "--gate: \"--threads\" is refused; allowed is one of the two"),
      (["--quick=yes"], "--quick: \"yes\" is refused; allowed is no value"),
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
