import Glibc

/// Writes made-up feeds that are valid, of any size, and the same for the same size.
///
/// Stops and routes stay few while trips grow in number: so does the feed of a city from a day to a
/// year.
enum FeedGenerator {
  private static let stopCount = 1_000
  private static let routeCount = 40
  private static let stopTimesPerTrip = 50

  /// Writes a feed with so many stop times into a new folder.
  ///
  /// - Throws: `FileError` if the folder is there, or the system refuses.
  static func write(stopTimes: Int, to folder: String) throws(FileError) {
    // A part of a feed is of no use to anybody.
    let leftover = try Leftover {
      TemporaryFolder.remove(folder)
    } making: { () throws(FileError) in
      guard unsafe mkdir(folder, 0o755) == 0 else {
        throw FileError(action: "make the folder", path: folder, code: errno)
      }
    }
    try writeFiles(stopTimes: stopTimes, to: folder)
    leftover.keep()
  }

  private static func writeFiles(stopTimes: Int, to folder: String) throws(FileError) {
    let trips = (stopTimes + stopTimesPerTrip - 1) / stopTimesPerTrip
    try write("\(folder)/agency.txt", "agency_id,agency_name,agency_url,agency_timezone", 1) { _ in
      "G,Generated Transit,https://transit.example,Europe/Berlin"
    }
    try write(
      "\(folder)/calendar.txt",
      "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date", 1
    ) { _ in "daily,1,1,1,1,1,1,1,20260101,20261231" }
    try write("\(folder)/stops.txt", "stop_id,stop_name,stop_lat,stop_lon", stopCount) { stop in
      "S\(stop),\"Stop \(stop), north side\",\(48 + stop / 100).\(stop % 100 + 10),9.\(stop + 100)"
    }
    try write(
      "\(folder)/routes.txt", "route_id,agency_id,route_short_name,route_long_name,route_type",
      routeCount
    ) { route in "R\(route),G,\(route),Line \(route),3" }
    try write("\(folder)/trips.txt", "route_id,service_id,trip_id,direction_id", trips) { trip in
      "R\(trip % routeCount),daily,T\(trip),\(trip % 2)"
    }
    try write(
      "\(folder)/stop_times.txt", "trip_id,arrival_time,departure_time,stop_id,stop_sequence",
      stopTimes
    ) { row in
      let trip = row / stopTimesPerTrip
      let sequence = row % stopTimesPerTrip
      // Trips start from 4:00 to 23:59 and last up to two hours: some run past midnight.
      let minute = 240 + trip * 7 % 1_200 + sequence * 2
      let stop = (trip * 13 + sequence) % stopCount
      return "T\(trip),\(clock(minute, "00")),\(clock(minute, "30")),S\(stop),\(sequence + 1)"
    }
  }

  private static func write(
    _ path: String, _ header: String, _ rows: Int, _ row: (Int) -> String
  ) throws(FileError) {
    let file = try OutputFile(path: path)
    try file.write(header + "\n")
    for index in 0..<rows { try file.write(row(index) + "\n") }
    try file.finish()
  }

  private static func clock(_ minute: Int, _ seconds: String) -> String {
    let hours = minute / 60
    let minutes = minute % 60
    return "\(hours):\(minutes < 10 ? "0" : "")\(minutes):\(seconds)"
  }
}
