import Foundation

/// The feed that comes with the guide: an invented town with 3 lines.
///
/// Its files hold what real feeds hold and simple readers trip over: a byte-order mark, CR LF, a last
/// line without an end, quoted fields with commas, doubled quotes and a line end, a blank line, empty
/// fields, times with a leading blank and times past midnight, and an optional file that is missing.
enum SampleFeed {
  /// Where it was put when the guide was built; nil if it is there no more.
  static var path: String? { Bundle.module.path(forResource: "SampleFeed", ofType: nil) }
}
