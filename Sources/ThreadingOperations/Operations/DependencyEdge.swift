/// One dependency: a dependant waits for a dependency. This form is for an operation's second dependency and those
/// after it; the first one is kept inside the operation itself, see ``EdgeReference``.
///
/// The dependant owns the edge and, through it, keeps the dependency alive; the dependency knows its
/// dependants without owning them, so a graph that is never run is freed when its users let go.
///
/// - `rest` links the dependant's edges; guarded by the dependant's lock.
/// - `links` and `isLinked` link the dependency's ring of dependants, in the order in which they were
///   added; guarded by the dependency's lock.
@safe
struct DependencyEdge {
  /// Owned: one reference is held for as long as the edge exists.
  let dependency: Unmanaged<ThreadOperation>
  /// Not owned: an edge is unlinked before its dependant goes.
  let dependant: Unmanaged<ThreadOperation>
  /// The dependant's older edges.
  var rest: DependencyList
  var links = OperationLinks()
  /// Whether the dependency has still to finish.
  var isLinked = false
}

/// Names an edge in a ring of dependants: one by itself, or the one inside its dependant.
///
/// The edge inside consists of the dependant's `readyLinks` and `isFirstEdgeLinked`. While it is linked, the
/// dependency has a hold on the dependant; an operation with holds is in no list of ready ones, so the links are
/// free. Whoever unlinks the edge lets go of the hold after that, and whoever links it takes the hold before.
@safe
struct EdgeReference: Equatable {
  /// 0 for none; the address of an edge; or the address of a dependant, plus 1.
  let bits: UInt

  static let none = EdgeReference(bits: 0)

  init(bits: UInt) { self.bits = bits }

  init(_ edge: UnsafeMutablePointer<DependencyEdge>) { bits = UInt(bitPattern: edge) }

  init(insideOf dependant: ThreadOperation) {
    bits = unsafe Unmanaged.passUnretained(dependant).address + 1
  }

  /// The edge, if it is one by itself.
  @inline(__always)
  private var edge: UnsafeMutablePointer<DependencyEdge>? {
    unsafe bits & 1 == 0 ? UnsafeMutablePointer(bitPattern: bits) : nil
  }

  @inline(__always)
  private var host: Unmanaged<ThreadOperation> {
    guard let host = unsafe Unmanaged<ThreadOperation>(address: bits & ~1) else {
      fatalError("ThreadOperation: there is no edge where one should be")
    }
    return unsafe host
  }

  @inline(__always)
  var dependant: Unmanaged<ThreadOperation> {
    if let edge = unsafe edge { return unsafe edge.pointee.dependant }
    return unsafe host
  }

  @inline(__always)
  var links: OperationLinks {
    get {
      if let edge = unsafe edge { return unsafe edge.pointee.links }
      return unsafe host._withUnsafeGuaranteedRef { $0.readyLinks }
    }
    nonmutating set {
      if let edge = unsafe edge {
        unsafe edge.pointee.links = newValue
      } else {
        unsafe host._withUnsafeGuaranteedRef { $0.readyLinks = newValue }
      }
    }
  }

  @inline(__always)
  var isLinked: Bool {
    get {
      if let edge = unsafe edge { return unsafe edge.pointee.isLinked }
      return unsafe host._withUnsafeGuaranteedRef { $0.isFirstEdgeLinked }
    }
    nonmutating set {
      if let edge = unsafe edge {
        unsafe edge.pointee.isLinked = newValue
      } else {
        unsafe host._withUnsafeGuaranteedRef { $0.isFirstEdgeLinked = newValue }
      }
    }
  }

  /// Gives its memory back, if it has some of its own.
  @inline(__always)
  func deallocate() { unsafe edge?.deallocate() }
}

/// What an operation depends on, the newest first. Guarded by the operation's lock.
@safe
struct DependencyList {
  /// 0 for none; the address of an edge, in which the rest is; or, for the edge inside the operation, the address
  /// of what that depends on, plus 1.
  private var bits: UInt = 0

  var isEmpty: Bool { bits == 0 }

  /// Adds a dependency, and keeps it alive.
  ///
  /// - Parameters:
  ///   - dependency: what to depend on.
  ///   - dependant: whose list it is.
  ///   - older: the list.
  /// - Returns: the list with the dependency, and the edge.
  @inline(__always)
  static func adding(
    _ dependency: ThreadOperation, of dependant: ThreadOperation, to older: DependencyList
  ) -> (DependencyList, EdgeReference) {
    var list = DependencyList()
    let owned = unsafe Unmanaged.passRetained(dependency)
    if older.isEmpty {
      list.bits = unsafe owned.address + 1
      return (list, EdgeReference(insideOf: dependant))
    }
    let edge = UnsafeMutablePointer<DependencyEdge>.allocate(capacity: 1)
    unsafe edge.initialize(
      to: DependencyEdge(
        dependency: owned, dependant: .passUnretained(dependant), rest: older))
    list.bits = UInt(bitPattern: edge)
    return unsafe (list, EdgeReference(edge))
  }

  /// Takes the newest dependency out.
  ///
  /// - Parameter dependant: whose list it is.
  /// - Returns: the edge, whose memory is to be given back, and what it leads to, which is to be released.
  @inline(__always)
  mutating func popFirst(
    of dependant: ThreadOperation
  ) -> (edge: EdgeReference, dependency: Unmanaged<ThreadOperation>)? {
    if bits & 1 != 0 {
      guard let dependency = unsafe Unmanaged<ThreadOperation>(address: bits & ~1) else {
        return nil
      }
      bits = 0
      return unsafe (EdgeReference(insideOf: dependant), dependency)
    }
    guard let edge = unsafe UnsafeMutablePointer<DependencyEdge>(bitPattern: bits) else {
      return nil
    }
    self = unsafe edge.pointee.rest
    return unsafe (EdgeReference(edge), edge.pointee.dependency)
  }

  /// Takes out all that lead to one dependency, and keeps the order of the others.
  ///
  /// - Parameters:
  ///   - dependency: what they lead to.
  ///   - dependant: whose list it is.
  ///   - body: is handed each edge that has been taken out.
  mutating func removeAll(
    to dependency: ThreadOperation, of dependant: ThreadOperation, _ body: (EdgeReference) -> Void
  ) {
    let wanted = unsafe Unmanaged.passUnretained(dependency).address
    var kept: [UInt] = []
    while !isEmpty {
      let before = bits
      guard let (edge, target) = unsafe popFirst(of: dependant) else { break }
      if unsafe target.address == wanted { body(edge) } else { kept.append(before) }
    }
    for one in kept.reversed() {
      let rest = self
      bits = one
      // The one inside is the oldest, so nothing comes after it.
      if let edge = unsafe one & 1 == 0
        ? UnsafeMutablePointer<DependencyEdge>(bitPattern: one) : nil
      {
        unsafe edge.pointee.rest = rest
      }
    }
  }

  /// What the operation depends on, the newest first.
  var targets: [ThreadOperation] {
    var targets: [ThreadOperation] = []
    var left = self
    while left.bits & 1 == 0,
      let edge = unsafe UnsafeMutablePointer<DependencyEdge>(bitPattern: left.bits)
    {
      unsafe targets.append(edge.pointee.dependency.takeUnretainedValue())
      left = unsafe edge.pointee.rest
    }
    if let oldest = unsafe Unmanaged<ThreadOperation>(address: left.bits & ~1) {
      unsafe targets.append(oldest.takeUnretainedValue())
    }
    return targets
  }
}

/// The dependants of an operation: a ring of edges, oldest first. Guarded by the operation's lock.
struct DependantRing {
  private(set) var first = EdgeReference.none

  var isEmpty: Bool { first == .none }

  @inline(__always)
  mutating func append(_ edge: EdgeReference) {
    edge.isLinked = true
    if isEmpty {
      edge.links = OperationLinks(previous: edge.bits, next: edge.bits)
      first = edge
      return
    }
    let last = EdgeReference(bits: first.links.previous)
    edge.links = OperationLinks(previous: last.bits, next: first.bits)
    last.links.next = edge.bits
    first.links.previous = edge.bits
  }

  /// Takes an edge out. Does nothing to one that is not linked.
  ///
  /// - Returns: whether it was linked.
  @inline(__always)
  mutating func remove(_ edge: EdgeReference) -> Bool {
    guard edge.isLinked else { return false }
    edge.isLinked = false
    let links = edge.links
    if links.next == edge.bits {
      first = .none
    } else {
      EdgeReference(bits: links.previous).links.next = links.next
      EdgeReference(bits: links.next).links.previous = links.previous
      if first == edge { first = EdgeReference(bits: links.next) }
    }
    return true
  }
}
