import Foundation
import Threading

@main
struct Guide {
  static func main() {
    print(Bundle.module.path(forResource: "SampleFeed", ofType: nil) ?? "none")
  }
}
