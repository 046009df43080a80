import Foundation
import TestSupport
import Testing

@testable import guide

@Suite("ProgressDisplay", .endsInTime)
struct ProgressDisplayTests {
  let recorder = Recorder()

  /// The bar that is drawn last for a file that is 50 % read.
  func bar(columns: Int) -> String {
    recorder.columns = columns
    var display = ProgressDisplay(recorder.console(isTerminal: true))
    display.start(file: "stop_times.txt")
    display.advance(to: 50, rows: 0)
    return String(recorder.output.split(separator: "\r").last!).replacing("\u{1B}[K", with: "")
  }

  @Test("a bar is as wide as the terminal allows, so that it can be drawn over")
  func widths() {
    #expect(bar(columns: 200) == "[###############...............] 50% stop_times.txt")
    #expect(bar(columns: 40) == "[#########.........] 50% stop_times.txt")
    #expect(bar(columns: 24) == "[########.........] 50%")
    #expect(bar(columns: 8) == "50%")
    #expect(bar(columns: 1) == "")
    for columns in 1...100 { #expect(bar(columns: columns).count < columns) }
  }

  @Test("a terminal that takes nothing is not waited for, and the next bar is drawn in full")
  func stopped() {
    var display = ProgressDisplay(recorder.console(isTerminal: true))
    recorder.isReady = false
    display.start(file: "stops.txt")
    display.advance(to: 40, rows: 0)
    #expect(recorder.output.isEmpty)
    recorder.isReady = true
    display.advance(to: 50, rows: 0)
    #expect(recorder.output == "\r[###############...............] 50% stops.txt\u{1B}[K")
  }

  @Test("a terminal that cannot draw over a line gets plain lines")
  func dumb() {
    for kind in [nil, "", "dumb"] { #expect(!Console.canDrawOver(terminal: kind)) }
    for kind in ["xterm-256color", "linux", "screen"] {
      #expect(Console.canDrawOver(terminal: kind))
    }
  }

  @Test("a terminal is asked for its columns, and whether it takes text")
  func terminal() throws {
    let (main, terminal) = try #require(Terminal.pair())
    defer {
      close(main)
      close(terminal)
    }
    try #require(fcntl(terminal, F_SETFL, O_NONBLOCK) == 0)
    var size = winsize(ws_row: 20, ws_col: 33, ws_xpixel: 0, ws_ypixel: 0)
    #expect(unsafe ioctl(main, UInt(TIOCSWINSZ), &size) == 0)
    #expect(Console.columns(of: terminal) == 33)
    size.ws_col = 0
    #expect(unsafe ioctl(main, UInt(TIOCSWINSZ), &size) == 0)
    #expect(Console.columns(of: terminal) == 80)

    #expect(Console.isReady(terminal))
    // Nobody reads at the other end. The system moves text from one buffer to the next in its own time,
    // so a terminal that is full may take more a moment later, until all of them are.
    let text = [UInt8](repeating: 0x2E, count: 4_096)
    var pieces = 0
    while Console.isReady(terminal) && pieces < 10_000 {
      pieces += 1
      _ = unsafe write(terminal, text, text.count)
    }
    #expect(pieces < 10_000)
  }
}
