import TestSupport
import Testing
import ThreadingThreads

private final class Box {
  let number: Int
  init(_ number: Int) { self.number = number }
}

@Suite("IdentifierTable", .endsInTime)
struct IdentifierTableTests {
  @Test("agrees with a dictionary through random insertions and removals", arguments: 1...8)
  func model(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let keys = (0..<(seed * 9)).map { Box($0) }
    var table = IdentifierTable()
    var model: [ObjectIdentifier: Box] = [:]
    for step in 0..<2_000 {
      let key = ObjectIdentifier(keys[Int.random(in: 0..<keys.count, using: &random)])
      // Phases that mostly fill and mostly empty the table, so that runs grow and shrink.
      let fills =
        Int.random(in: 0..<4, using: &random) > (step / 500).isMultiple(of: 2).intValue * 2
      let value = fills ? Box(step) : nil
      let old = table.set(value, for: key)
      #expect((old as? Box) === model[key])
      model[key] = value
      let count = table.count
      #expect(count == model.count)
      for key in keys {
        let found = unsafe table.find(ObjectIdentifier(key))?.takeUnretainedValue()
        if (found as? Box) !== model[ObjectIdentifier(key)] { Issue.record("step \(step)") }
      }
    }
  }

  @Test("lets go of its objects when it goes")
  func releases() {
    let key = Box(0)
    weak var object: Box?
    do {
      var table = IdentifierTable()
      let box = Box(1)
      object = box
      #expect(table.set(box, for: ObjectIdentifier(key)) == nil)
      let isEmpty = table.isEmpty
      #expect(!isEmpty)
    }
    #expect(object == nil)
  }
}

extension Bool {
  fileprivate var intValue: Int { self ? 1 : 0 }
}
