import Glibc
import TestSupport
import Testing

@testable import ThreadingPlatform

@Suite("ThreadingError", .endsInTime)
struct ThreadingErrorTests {
  @Test("the description names the call, the symbol of the code and the reason")
  func description() {
    let error = ThreadingError(call: "pthread_create", code: EAGAIN, message: "no more threads")
    #expect(error.codeName == "EAGAIN")
    #expect(error.description == "pthread_create (EAGAIN): no more threads")
  }

  @Test("a code without a symbol is shown as its number")
  func unknownCode() {
    #expect(ThreadingError(call: "x", code: 9_999, message: "y").codeName == "9999")
  }

  @Test("running out of descriptors names the limit")
  func descriptors() {
    let error = ThreadingError.descriptorRefused("eventfd", EMFILE)
    #expect(error.message.contains("RLIMIT_NOFILE"))
    #expect(error.call == "eventfd")
  }
}
