import Foundation

@testable import guide

/// A folder for one test, gone with the object.
final class Folder {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "guide-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  var database: String { path + "/test.sqlite" }

  /// Writes a feed into the folder. A file that is not given has a header and no rows.
  func feed(_ files: [String: String]) throws -> String {
    let feed = path + "/feed"
    try FileManager.default.createDirectory(atPath: feed, withIntermediateDirectories: true)
    var files = files
    for (name, header) in Self.headers where files[name] == nil { files[name] = header + "\n" }
    for (name, text) in files where text != Self.absent {
      try Data(text.utf8).write(to: URL(filePath: "\(feed)/\(name).txt"))
    }
    return feed
  }

  /// In place of a file's text: the feed has no such file.
  static let absent = "\u{0}absent"

  static let headers = [
    "stops": "stop_id,stop_name,stop_lat,stop_lon",
    "routes": "route_id,route_short_name,route_long_name,route_type",
    "trips": "route_id,service_id,trip_id",
    "stop_times": "trip_id,arrival_time,departure_time,stop_id,stop_sequence",
  ]
}
