/// One dependency: `dependant` waits for `dependency`.
///
/// The dependant owns the edge and, through it, keeps the dependency alive; the dependency knows its
/// dependants without owning them, so a graph that is never run is freed when its users let go.
///
/// - `nextOfDependant` links the dependant's edges; guarded by the dependant's lock.
/// - `previous`, `next` and `isLinked` link the dependency's ring of dependants, in the order in which
///   they were added; guarded by the dependency's lock.
@safe
struct DependencyEdge {
  /// Owned: one reference is held for as long as the edge exists.
  let dependency: Unmanaged<ThreadOperation>
  /// Not owned: an edge is unlinked before its dependant goes.
  let dependant: Unmanaged<ThreadOperation>

  var nextOfDependant: UnsafeMutablePointer<DependencyEdge>?
  var previous: UnsafeMutablePointer<DependencyEdge>?
  var next: UnsafeMutablePointer<DependencyEdge>?
  /// Whether the dependency has still to finish.
  var isLinked = false

  static func allocate(
    dependant: ThreadOperation, dependency: ThreadOperation
  ) -> UnsafeMutablePointer<DependencyEdge> {
    let edge = UnsafeMutablePointer<DependencyEdge>.allocate(capacity: 1)
    unsafe edge.initialize(
      to: DependencyEdge(
        dependency: .passRetained(dependency), dependant: .passUnretained(dependant)))
    return unsafe edge
  }

  private init(dependency: Unmanaged<ThreadOperation>, dependant: Unmanaged<ThreadOperation>) {
    unsafe self.dependency = unsafe dependency
    unsafe self.dependant = unsafe dependant
    unsafe nextOfDependant = nil
    unsafe previous = nil
    unsafe next = nil
  }
}

/// The dependants of an operation: a ring of edges, oldest first. Guarded by the operation's lock.
@safe
struct DependantRing {
  private(set) var first: UnsafeMutablePointer<DependencyEdge>?

  init() { unsafe first = nil }

  var isEmpty: Bool { unsafe first == nil }

  mutating func append(_ edge: UnsafeMutablePointer<DependencyEdge>) {
    unsafe edge.pointee.isLinked = true
    if let first = unsafe first {
      let last = unsafe first.pointee.previous
      unsafe edge.pointee.previous = last
      unsafe edge.pointee.next = first
      unsafe last?.pointee.next = edge
      unsafe first.pointee.previous = edge
    } else {
      unsafe edge.pointee.previous = edge
      unsafe edge.pointee.next = edge
      unsafe first = edge
    }
  }

  /// Takes an edge out. Does nothing to one that is not linked.
  ///
  /// - Returns: whether it was linked.
  mutating func remove(_ edge: UnsafeMutablePointer<DependencyEdge>) -> Bool {
    guard unsafe edge.pointee.isLinked else { return false }
    unsafe edge.pointee.isLinked = false
    if unsafe edge.pointee.next == edge {
      unsafe first = nil
    } else {
      unsafe edge.pointee.previous?.pointee.next = edge.pointee.next
      unsafe edge.pointee.next?.pointee.previous = edge.pointee.previous
      if unsafe first == edge { unsafe first = unsafe edge.pointee.next }
    }
    return true
  }
}
