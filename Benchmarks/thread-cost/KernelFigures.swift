import ThreadingPlatform

/// Figures that the kernel tells in files of lines like `KernelStack:   2912 kB`.
enum KernelFigures {
  /// The bytes of the line that begins with `key`; 0 where there is none.
  static func bytes(of key: String, in path: String) -> Int64 {
    bytes(of: key, inText: SystemFile.text(of: path) ?? "")
  }

  static func bytes(of key: String, inText text: String) -> Int64 {
    for line in text.split(separator: "\n") where line.hasPrefix(key) {
      let fields = line.dropFirst(key.count).split { $0 == " " || $0 == "\t" }
      guard let number = fields.first.flatMap({ Int64($0) }) else { return 0 }
      return fields.last == "kB" ? number * 1_024 : number
    }
    return 0
  }
}
