internal import ThreadingLocks
internal import ThreadingPlatform

extension ThreadRunLoop {
  /// A named set of things that a run listens to: each run is in one mode, and only what was added
  /// or posted for that mode is served meanwhile. The rest waits.
  ///
  /// Two modes of the same name are equal. A process can have 62 modes beside ``default``.
  ///
  /// There is no "common" mode to run in: the common *set* is ``ModeSet/common``, so running it
  /// does not compile.
  public struct Mode: Hashable, Sendable {
    /// The mode's place in a ``ModeSet``.
    let index: UInt8

    /// The mode of that name, made when the name is used for the first time.
    ///
    /// - Precondition: The process has at most 62 modes beside the default one. One more stops the
    ///   program. Names are kept for the life of the process, so do not make them up in a loop.
    public init(_ name: String) {
      index = Self.names.withLock { names in
        if let known = names.firstIndex(of: name) { return UInt8(known) }
        require(
          names.count < 63,
          "ThreadRunLoop.Mode: the mode \"\(name)\" is the 63rd; a process can have 62 of its own")
        names.append(name)
        return UInt8(names.count - 1)
      }
    }

    private init(index: UInt8) { self.index = index }

    /// The mode that a run is in when none is named.
    public static let `default` = Mode(index: 0)

    /// The name that the mode was made with.
    public var name: String { Self.names.withLock { $0[Int(index)] } }

    private static let names = Locked<[String]>(["default"])
  }

  /// The modes in which something is served.
  ///
  /// ```swift
  /// loop.perform(in: [.default, .resizing]) { redraw() }
  /// ```
  public struct ModeSet: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// A bit for each mode by its index, and the top bit for the loop's common set.
    let bits: UInt64

    init(bits: UInt64) { self.bits = bits }

    /// The given modes.
    public init(_ modes: some Sequence<Mode>) {
      bits = modes.reduce(0) { $0 | Self.bit($1) }
    }

    /// The given modes.
    public init(arrayLiteral modes: Mode...) { self.init(modes) }

    /// The default mode alone.
    public static let `default` = ModeSet([.default])

    /// The loop's common set: the default mode and each mode that was declared common with
    /// ``ThreadRunLoop/addCommonMode(_:)``, before or after the thing was added.
    public static let common = ModeSet(bits: commonBit)

    /// The modes of both sets.
    public func union(_ other: ModeSet) -> ModeSet { ModeSet(bits: bits | other.bits) }

    /// Whether the set is empty, so that what is added for it would never be served.
    public var isEmpty: Bool { bits == 0 }

    static let commonBit: UInt64 = 1 << 63

    static func bit(_ mode: Mode) -> UInt64 { 1 << UInt64(mode.index) }
  }
}

extension ThreadRunLoop.Mode: CustomStringConvertible {
  /// The mode's name.
  public var description: String { name }
}
