import Glibc

/// The guide's program: `guide list`, `guide run CHAPTER`, `guide all`, `guide check`, `guide articles`,
/// `guide generate`.
@main
struct Guide {
  static func main() {
    ProcessSetup.openStandardStreams()
    ProcessSetup.reportFilesTooLarge()
    ProcessSetup.reportReadersGone()
    ProcessSetup.unblockEndingSignals()
    ProcessSetup.askOwnServerDirectly()
    let console = Console.standard
    let status = run(Array(CommandLine.arguments.dropFirst()), on: console)
    exit(console.ending(status).rawValue)
  }

  /// Does what the arguments ask for.
  ///
  /// - Returns: what the process shall end with.
  static func run(_ arguments: [String], on console: Console) -> ExitStatus {
    do throws(UsageError) {
      switch try GuideCommand.parse(arguments) {
      case .help: console.print(HelpText.guide + "\n")
      case .list: console.print(HelpText.list + "\n")
      case .importHelp: console.print(HelpText.importing + "\n")
      case .generateHelp: console.print(HelpText.generating + "\n")
      case .importFeed(let options):
        return ImportChapter(options: options, console: console).run()
      case .generate(let options):
        return generate(options, console)
      case .all: return ChapterRun.all(on: console)
      case .check(let writing): return TextCheck.run(writing: writing, on: console)
      case .articles(let catalogue): return Articles.run(catalogue: catalogue, on: console)
      case .run(let number, let input):
        return ChapterRun.chapter(number, with: input, on: console)
      case .explain(let number): return ChapterRun.explain(number, on: console)
      case .solution(let index, let number):
        return ChapterRun.solution(index, of: number, on: console)
      case .part(let name, let number):
        return ChapterRun.part(name, of: number, on: console)
      }
      return .done
    } catch {
      console.fail("\(error); see guide --help")
      return .usage
    }
  }

  private static func generate(_ options: GenerateOptions, _ console: Console) -> ExitStatus {
    do throws(FileError) {
      try FeedGenerator.write(stopTimes: options.stopTimes, to: options.folder)
      console.say("wrote \(Figures.grouped(options.stopTimes)) stop times to \(options.folder)")
      return .done
    } catch {
      console.fail(error)
      return .fileError
    }
  }
}
