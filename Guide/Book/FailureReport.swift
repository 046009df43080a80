import Foundation
import FoundationNetworking
import Threading

/// What is told of an error that stops a chapter, and what the process ends with then.
struct FailureReport {
  /// What was tried, with which value, and why it failed.
  let reason: String
  let status: ExitStatus

  init(_ error: any Error) {
    switch error {
    case let failure as ChapterFailure: (reason, status) = (failure.description, failure.status)
    case let error as FileError: (reason, status) = (error.description, error.status)
    case let error as DatabaseError: (reason, status) = (error.description, .fileError)
    case let error as LibraryError: (reason, status) = (error.description, .noLibrary)
    case let error as ThreadingError: (reason, status) = (error.description, .system)
    default: (reason, status) = (Self.reason(error), .system)
    }
  }

  /// In a few words what an error of Foundation says in many, or not at all.
  private static func reason(_ error: any Error) -> String {
    let isOfFoundation =
      type(of: error) is AnyClass || error is CocoaError || error is POSIXError || error is URLError
    guard isOfFoundation else { return "\(error)" }
    let error = error as NSError
    let path =
      error.userInfo[NSFilePathErrorKey] as? String ?? (error.userInfo[NSURLErrorKey] as? URL)?.path
    return "cannot use \(path ?? "a file"): \(why(error))"
  }

  /// Why something was refused, in the words of the system, which are the innermost ones.
  ///
  /// Foundation has many of the system's reasons in one, such as that of permission.
  static func why(_ error: any Error) -> String {
    let error = error as NSError
    if let inner = error.userInfo[NSUnderlyingErrorKey] as? NSError { return why(inner) }
    if error.domain == NSPOSIXErrorDomain {
      return unsafe String(cString: strerror(CInt(truncatingIfNeeded: error.code)))
    }
    if error.domain == NSURLErrorDomain {
      switch URLError.Code(rawValue: error.code) {
      case .timedOut: return "the server has said nothing for a while"
      case .cancelled: return "it was given up"
      case .cannotFindHost: return "there is no such server"
      case .cannotConnectToHost: return error.localizedDescription
      case .networkConnectionLost: return "the server has ended in the middle"
      case .unsupportedURL, .badURL: return "it is not the address of a page"
      default: break
      }
    }
    return error.localizedDescription
  }
}

extension FileError {
  /// What the process ends with when this stops it.
  var status: ExitStatus {
    switch action {
    case "open", "read", "examine", "find": .noInput
    case "start": .system
    default: .fileError
    }
  }
}
