import Threading

@main
struct Benchmarks {
  static func main() {
  }
}
