public import ThreadingPlatform

/// What one thread of the process was like at one moment, whoever started it: a value that does not
/// change and keeps nothing alive but the thread's handle.
///
/// ```swift
/// for thread in try ThreadSnapshot.all() { print(thread) }
/// ```
public struct ThreadSnapshot: Sendable, Identifiable {
  /// What the kernel has a thread doing.
  public enum Activity: Sendable, Hashable, CaseIterable {
    /// It runs or waits for a processor.
    case running
    /// It waits for something, and a signal would wake it.
    case sleeping
    /// It waits for a device or a file system, and no signal wakes it.
    case waitingForDevice
    /// It is stopped, by a signal or a debugger.
    case stopped
    /// It is ending, or in a state of another name.
    case other
  }

  /// The kernel's id of the thread.
  public let id: UInt32

  /// The thread's handle; nil for a thread of other origin that has never asked for its own.
  public let handle: ThreadHandle?

  /// Who started the thread.
  public let origin: ThreadOrigin

  /// The thread's full name; nil for one that has none, or no handle.
  public let name: String?

  /// The name under which the system lists the thread, 15 bytes at most.
  public let listedName: String

  /// What the kernel had the thread doing.
  public let activity: Activity

  /// The processor time that the thread had used.
  public let processorTime: Duration

  /// How the kernel scheduled the thread; nil for a policy that this package does not know.
  public let scheduling: SchedulingPolicy?

  /// The thread's stack; nil for a thread that has no handle, since the C library tells only of
  /// threads whose own handle is at hand. ``StackUsage/current`` is nil for all but the calling thread:
  /// ask ``ThreadHandle/stackUsage()``, which interrupts the thread.
  public let stack: StackUsage?

  /// All threads of the process, in the order of their ids: those of this package, Foundation's,
  /// Dispatch's and others.
  ///
  /// They are looked at one after another, so the values are of slightly different moments; a thread
  /// that ends meanwhile is left out, and one that begins meanwhile may be. Costs some system calls a thread, and no thread is disturbed.
  ///
  /// - Returns: the threads; empty where there is no `proc` file system.
  /// - Throws: a ``ThreadingError`` (`EMFILE`, `ENFILE`) when no descriptor is left to read it.
  public static func all() throws(ThreadingError) -> [ThreadSnapshot] {
    var snapshots: [ThreadSnapshot] = []
    for id in try SystemTask.identifiers() {
      if let snapshot = try ThreadSnapshot(ofThread: id) { snapshots.append(snapshot) }
    }
    return snapshots
  }

  /// The calling thread; nil where there is no `proc` file system, or no descriptor left to read it.
  public static var current: ThreadSnapshot? { ThreadSnapshot(id: ThreadHandle.current.kernelID) }

  /// A thread of the process by its kernel id; nil when there is no such thread, no `proc` file system,
  /// or no descriptor left to read it. Costs some system calls.
  ///
  /// - Parameter id: as ``ThreadHandle/kernelID`` and ``ThreadSnapshot/id`` tell it.
  public init?(id: UInt32) {
    guard let snapshot = try? ThreadSnapshot(ofThread: id) else { return nil }
    self = snapshot
  }

  /// - Throws: when nothing can be said of the thread.
  private init?(ofThread id: UInt32) throws(ThreadingError) {
    guard let letter = try SystemTask.stateLetter(of: id),
      let listedName = try SystemThread.name(ofThread: id),
      let time = SystemTask.processorTime(of: id)
    else { return nil }
    let handle =
      if id == SystemThread.currentID {
        ThreadHandle.current
      } else if id == SystemThread.processID {
        ForkGuard.firstThreadOfProcess
      } else {
        ThreadRegistry.current.handle(of: id)
      }
    self.id = id
    self.handle = handle
    self.listedName = listedName
    processorTime = time
    origin = handle?.origin ?? .other
    name = handle?.name
    activity =
      switch letter {
      case "R": .running
      case "S", "I": .sleeping
      case "D": .waitingForDevice
      case "T", "t": .stopped
      default: .other
      }
    scheduling = (try? SystemScheduling.parameters(of: id)).flatMap {
      $0.map(SchedulingPolicy.init)
    }
    stack = try? handle?.stackUsage(asks: false)
  }
}

extension ThreadSnapshot: CustomStringConvertible {
  /// The id, names, activity, processor time and stack, in one line.
  public var description: String {
    let label = name ?? listedName
    let use = stack.map { ", stack \($0.highWaterMark) of \($0.size) bytes" } ?? ""
    return "thread \(id) \"\(label)\" (\(origin)): \(activity), \(processorTime) of processor time"
      + (scheduling.map { ", \($0)" } ?? "") + use
  }
}
