/// A file of a feed and the table of the database that it fills.
struct FeedTable: Equatable, Sendable {
  /// The table's name. The file has the same, with `.txt`.
  let name: String

  /// Whether a feed without the file is refused.
  let isRequired: Bool

  /// The names of the columns that tell one row from another.
  let key: [String]

  let columns: [FeedColumn]

  var fileName: String { name + ".txt" }

  /// The places of the key's columns in `columns`.
  var keyIndexes: [Int] { columns.indices.filter { key.contains(columns[$0].name) } }
}

extension FeedTable {
  /// What is imported, in the order in which it is imported: what is referred to comes first.
  static let all = [agency, calendar, calendarDates, stops, routes, trips, stopTimes]

  static let agency = FeedTable(
    name: "agency", isRequired: false, key: ["agency_id"],
    columns: [
      // A feed with a single agency may leave its id empty.
      .text("agency_id"),
      .text("agency_name", .columnRequired),
      .text("agency_url"),
      .text("agency_timezone"),
      .text("agency_lang"),
      .text("agency_phone"),
      .text("agency_fare_url"),
      .text("agency_email"),
    ])

  static let calendar = FeedTable(
    name: "calendar", isRequired: false, key: ["service_id"],
    columns: [
      .text("service_id", .valueRequired),
      .integer("monday", 0...1, .valueRequired),
      .integer("tuesday", 0...1, .valueRequired),
      .integer("wednesday", 0...1, .valueRequired),
      .integer("thursday", 0...1, .valueRequired),
      .integer("friday", 0...1, .valueRequired),
      .integer("saturday", 0...1, .valueRequired),
      .integer("sunday", 0...1, .valueRequired),
      .date("start_date", .valueRequired),
      .date("end_date", .valueRequired),
    ])

  static let calendarDates = FeedTable(
    name: "calendar_dates", isRequired: false, key: ["service_id", "date"],
    columns: [
      .text("service_id", .valueRequired),
      .date("date", .valueRequired),
      .integer("exception_type", 1...2, .valueRequired),
    ])

  static let stops = FeedTable(
    name: "stops", isRequired: true, key: ["stop_id"],
    columns: [
      .text("stop_id", .valueRequired),
      .text("stop_code"),
      .text("stop_name", .columnRequired),
      .text("stop_desc"),
      .decimal("stop_lat", -90...90, .columnRequired),
      .decimal("stop_lon", -180...180, .columnRequired),
      .text("zone_id"),
      .text("stop_url"),
      .integer("location_type", 0...4),
      .text("parent_station"),
      .text("stop_timezone"),
      .integer("wheelchair_boarding", 0...2),
      .text("platform_code"),
    ])

  static let routes = FeedTable(
    name: "routes", isRequired: true, key: ["route_id"],
    columns: [
      .text("route_id", .valueRequired),
      .text("agency_id"),
      .text("route_short_name"),
      .text("route_long_name"),
      .text("route_desc"),
      .integer("route_type", 0...9999, .valueRequired),
      .text("route_url"),
      .text("route_color"),
      .text("route_text_color"),
      .integer("route_sort_order", 0...Int64(Int32.max)),
    ])

  static let trips = FeedTable(
    name: "trips", isRequired: true, key: ["trip_id"],
    columns: [
      .text("route_id", .valueRequired),
      .text("service_id", .valueRequired),
      .text("trip_id", .valueRequired),
      .text("trip_headsign"),
      .text("trip_short_name"),
      .integer("direction_id", 0...1),
      .text("block_id"),
      .text("shape_id"),
      .integer("wheelchair_accessible", 0...2),
      .integer("bikes_allowed", 0...2),
    ])

  static let stopTimes = FeedTable(
    name: "stop_times", isRequired: true, key: ["trip_id", "stop_sequence"],
    columns: [
      .text("trip_id", .valueRequired),
      .time("arrival_time", .columnRequired),
      .time("departure_time", .columnRequired),
      .text("stop_id", .valueRequired),
      .integer("stop_sequence", 0...Int64(Int32.max), .valueRequired),
      .text("stop_headsign"),
      .integer("pickup_type", 0...3),
      .integer("drop_off_type", 0...3),
      .decimal("shape_dist_traveled", 0...Double.greatestFiniteMagnitude),
      .integer("timepoint", 0...1),
    ])
}
