public import ThreadingPlatform

/// A set of processors, by the kernel's numbers.
///
/// ```swift
/// let set = try CPUSet(kernelList: "0-3,8")
/// let worker = try PosixThread.start(ThreadAttributes(cpus: set)) { work() }
/// ```
public struct CPUSet: Sendable, Hashable, SetAlgebra {
  /// Bit n of word n / 64 stands for processor n. No zero word at the end, so that equal sets have equal
  /// words.
  private(set) var words: [UInt64]

  /// The largest number that a set can hold: far above what a kernel can be built for.
  public static var largestNumber: Int { 65_535 }

  /// The empty set.
  public init() {
    words = []
  }

  /// The set of the given numbers.
  ///
  /// - Precondition: each is in `0...largestNumber`. If one is not, the program stops.
  public init(_ numbers: some Sequence<Int>) {
    self.init()
    for number in numbers { insert(number) }
  }

  init(words: [UInt64]) {
    self.words = words
    trim()
  }

  /// The set that a list of the kernel's kind tells: numbers and ranges, such as `"0-3,8"`, as in
  /// `/sys/devices/system/cpu/online`. Blanks and a line end around the list are skipped, and an empty
  /// list is the empty set. A range may have a stride: `"0-30:2/4"` is 2 of every 4.
  ///
  /// - Throws: a ``ThreadingError`` (`EINVAL`) that names the part that is no number or range.
  public init(kernelList list: String) throws(ThreadingError) {
    self.init()
    let text = list.trimmingBlanks
    if text.isEmpty { return }
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let numbers = Self.numbers(of: part) else {
        throw .refused(
          by: "CPUSet", code: .invalid,
          "\"\(part)\" in the list \"\(list)\" is neither a processor's number of at most "
            + "\(Self.largestNumber) nor a range")
      }
      formUnion(numbers)
    }
  }

  private static func numbers(of part: Substring) -> CPUSet? {
    let range = part.split(separator: ":", omittingEmptySubsequences: false)
    let ends = range[0].split(separator: "-", omittingEmptySubsequences: false).map(number)
    guard range.count <= 2, ends.count <= 2, let low = ends[0], let high = ends[ends.count - 1],
      low <= high
    else { return nil }
    if range.count == 1 { return CPUSet(low...high) }
    let stride = range[1].split(separator: "/", omittingEmptySubsequences: false).map(number)
    guard ends.count == 2, stride.count == 2, let used = stride[0], let group = stride[1],
      used > 0, used <= group
    else { return nil }
    return CPUSet((low...high).filter { ($0 - low) % group < used })
  }

  private static func number(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(text),
      number <= largestNumber
    else { return nil }
    return number
  }

  /// The set as a list of the kernel's kind: `"0-3,8"`.
  public var kernelList: String {
    var parts: [String] = []
    var rest = numbers[...]
    while let low = rest.first {
      var high = low
      rest = rest.dropFirst()
      while rest.first == high + 1 {
        high += 1
        rest = rest.dropFirst()
      }
      parts.append(low == high ? "\(low)" : "\(low)-\(high)")
    }
    return parts.joined(separator: ",")
  }

  /// The processors' numbers, ascending.
  public var numbers: [Int] {
    words.indices.flatMap { word in
      (0..<64).filter { words[word] & (1 << UInt64($0)) != 0 }.map { word * 64 + $0 }
    }
  }

  /// How many processors are in the set.
  public var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// Whether no processor is in the set.
  public var isEmpty: Bool { words.isEmpty }

  /// The processors that this process may use, as its container and its starter have set it: those of
  /// its main thread. Those of another thread may be fewer, see ``ThreadHandle/affinity()``. Once the
  /// main thread has been given processors by ``ThreadHandle/setAffinity(_:)``, they are those that it
  /// had before. Costs a system call.
  ///
  /// - Throws: a ``ThreadingError`` if the system does not tell.
  public static func allowed() throws(ThreadingError) -> CPUSet {
    try ThreadHandle.processAffinity()
  }

  // MARK: SetAlgebra

  /// Whether a processor is in the set.
  public func contains(_ number: Int) -> Bool {
    guard number >= 0, number / 64 < words.count else { return false }
    return words[number / 64] & (1 << UInt64(number % 64)) != 0
  }

  /// Puts a processor in.
  ///
  /// - Returns: whether it was not there before, and its number.
  /// - Precondition: `number` is in `0...largestNumber`. If it is not, the program stops.
  @discardableResult
  public mutating func insert(_ number: Int) -> (inserted: Bool, memberAfterInsert: Int) {
    require(
      (0...Self.largestNumber).contains(number),
      "CPUSet.insert: processor \(number) is outside 0...\(Self.largestNumber)")
    if contains(number) { return (false, number) }
    while words.count <= number / 64 { words.append(0) }
    words[number / 64] |= 1 << UInt64(number % 64)
    return (true, number)
  }

  /// Takes a processor out.
  ///
  /// - Returns: its number, or nil if it was not there.
  @discardableResult
  public mutating func remove(_ number: Int) -> Int? {
    guard contains(number) else { return nil }
    words[number / 64] &= ~(1 << UInt64(number % 64))
    trim()
    return number
  }

  /// Puts a processor in.
  ///
  /// - Returns: its number if it was there before.
  @discardableResult
  public mutating func update(with number: Int) -> Int? {
    insert(number).inserted ? nil : number
  }

  /// The processors of either set.
  public func union(_ other: CPUSet) -> CPUSet { combined(other, |) }
  /// The processors of both sets.
  public func intersection(_ other: CPUSet) -> CPUSet { combined(other, &) }
  /// The processors of exactly one of the sets.
  public func symmetricDifference(_ other: CPUSet) -> CPUSet { combined(other, ^) }
  /// Puts the processors of another set in.
  public mutating func formUnion(_ other: CPUSet) { self = union(other) }
  /// Takes out the processors that are not in another set.
  public mutating func formIntersection(_ other: CPUSet) { self = intersection(other) }
  /// Keeps the processors of exactly one of the sets.
  public mutating func formSymmetricDifference(_ other: CPUSet) {
    self = symmetricDifference(other)
  }

  private func combined(_ other: CPUSet, _ operation: (UInt64, UInt64) -> UInt64) -> CPUSet {
    CPUSet(
      words: (0..<max(words.count, other.words.count)).map { index in
        operation(
          index < words.count ? words[index] : 0, index < other.words.count ? other.words[index] : 0
        )
      })
  }

  private mutating func trim() {
    while words.last == 0 { words.removeLast() }
  }
}

extension CPUSet: CustomStringConvertible {
  /// The kernel's list of the set.
  public var description: String { "CPUSet(\(kernelList))" }
}

extension String {
  fileprivate var trimmingBlanks: Substring {
    var text = self[...]
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}
