import DaybookTesting
import Synchronization
import Testing

@testable import Daybook
@testable import DaybookEngine

@Suite("the dictionary of shapes")
struct ShapeDictionaryTests {
  private func shape(_ index: Int) -> [UInt8] {
    let buffer = ByteBuffer()
    Array("Type\(index)".utf8).withView { Declaration.appendShape(type: $0, [(Array("key".utf8), 1)], to: buffer) }
    return buffer.view.array
  }

  @Test("with six bits of a number, the second of two declarations is never made, and the first stays what it is")
  func collisions() {
    let shapes = ShapeDictionary(mask: 63)
    var owners: [UInt32: [UInt8]] = [:]
    for index in 0..<1000 {
      let declaration = shape(index)
      declaration.withView { view in
        let number = shapes.number(of: view)
        #expect(shapes.mayAdd(view) == (owners[number] == nil))
        #expect(shapes.add(view) == (owners[number] == nil))
      }
      let number = declaration.withView { shapes.number(of: $0) }
      if owners[number] == nil { owners[number] = declaration }
    }
    #expect(shapes.count == 64)
    for (number, declaration) in owners { #expect(shapes.find(number)?.bytes.array == declaration) }
  }

  @Test("what a transaction declared is rolled back with it, and may be declared again")
  func cut() {
    let shapes = ShapeDictionary()
    var model: [[UInt8]] = []
    var generator = SeededGenerator(seed: 8)
    for step in 0..<4000 {
      if Int.random(in: 0..<4, using: &generator) == 0 {
        model.removeLast(Int.random(in: 0...min(5, model.count), using: &generator))
        shapes.cut(toPieceCount: model.count)
      } else {
        let declaration = shape(Int.random(in: 0..<300, using: &generator))
        #expect(declaration.withView { shapes.add($0) })
        if !model.contains(declaration) { model.append(declaration) }
      }
      #expect(shapes.count == model.count && shapes.pieceCount == model.count)
      let asked = shape(step % 300)
      #expect((asked.withView { shapes.find($0) } != nil) == model.contains(asked))
    }
    for (index, declaration) in model.enumerated() { #expect(shapes[index].bytes.array == declaration) }
  }

  @Test("a declaration that was rolled back stays where it was, and serves again when it is made again")
  func staysInMemory() throws {
    let shapes = ShapeDictionary(mask: 63)
    #expect(shape(1).withView { shapes.add($0) })
    let number = shape(1).withView { shapes.number(of: $0) }
    let other = try #require((2..<1000).first { index in shape(index).withView { shapes.number(of: $0) } == number })
    let found = try #require(shapes.find(number))
    shapes.cut(toPieceCount: 0)
    #expect(shapes.find(number) == nil && found.bytes.array == shape(1))
    #expect(shapes.retiredCount == 1 && shapes.retiredByteCount == shape(1).count)
    // Another one takes the number, and the first comes back after it.
    #expect(shape(other).withView { shapes.add($0) })
    #expect(shapes.find(number)?.bytes.array == shape(other) && found.bytes.array == shape(1))
    shapes.cut(toPieceCount: 0)
    for _ in 0..<10_000 {
      #expect(shape(1).withView { shapes.add($0) })
      #expect(shapes.find(number)?.address == found.address)
      shapes.cut(toPieceCount: 0)
    }
    #expect(shapes.retiredCount == 2, "what is tried again takes no more memory")
  }

  @Test("who asks for any number while declarations are rolled back finds the one with that number, or none")
  func rolledBackUnderReaders() throws {
    let shapes = ShapeDictionary(mask: 255)
    let declarations = (0..<600).map { shape($0) }
    let isDone = Atomic<Bool>(false)
    let fault = Locked<String?>(nil)
    let threads = (0..<3).map { thread in
      BackgroundThread(name: "shapes \(thread)") {
        var generator = SeededGenerator(seed: UInt64(thread))
        if thread == 0 {
          defer { isDone.store(true, ordering: .releasing) }
          for _ in 0..<300 {
            for _ in 0..<40 { _ = declarations.randomElement(using: &generator)?.withView { shapes.add($0) } }
            shapes.cut(toPieceCount: Int.random(in: 0...shapes.pieceCount / 2, using: &generator))
          }
          return
        }
        while !isDone.load(ordering: .acquiring) {
          let number = UInt32.random(in: 0...255, using: &generator)
          guard let found = shapes.find(number) else { continue }
          let bytes = found.bytes.array
          let isSound = bytes.withView { Declaration.isSound($0) && Declaration.number(of: $0) & 255 == number }
          if !isSound || found.number != number { fault.withLock { $0 = "number \(number) has the bytes \(bytes)" } }
        }
      }
    }
    for thread in threads { try #require(thread).join() }
    #expect(fault.withLock { $0 } == nil)
  }

  @Test("when thousands of declarations were rolled back no more are made, and those that a file has are still taken")
  func retiredLimit() {
    let shapes = ShapeDictionary()
    var made = 0
    while made < 10_000, shape(made).withView({ shapes.mayAdd($0) && shapes.add($0) }) {
      shapes.cut(toPieceCount: 0)
      made += 1
    }
    #expect(made == ShapeDictionary.retiredCountLimit && shapes.retiredCount == made)
    // As long as none of them is needed: what comes back is no longer kept.
    #expect(!shape(made).withView { shapes.mayAdd($0) })
    for index in 0..<ShapeDictionary.countLimit { #expect(shape(20_000 + index).withView { shapes.add($0) }) }
    #expect(shapes.count == ShapeDictionary.countLimit)
    for index in 0..<ShapeDictionary.countLimit { #expect(shapes[index].bytes.array == shape(20_000 + index)) }
    let large = ShapeDictionary()
    var byteCount = 0
    for index in 0..<100 {
      let text = Array((Array("\(index)".utf8) + [UInt8](repeating: 0x61, count: 60_000)).prefix(60_000))
      let buffer = ByteBuffer()
      text.withView { Declaration.append(.user, $0, to: buffer) }
      if large.mayAdd(buffer.view), large.add(buffer.view) { byteCount += buffer.count }
      large.cut(toPieceCount: 0)
    }
    #expect(large.retiredByteCount == byteCount)
    #expect(byteCount >= ShapeDictionary.retiredByteCountLimit && byteCount < ShapeDictionary.retiredByteCountLimit + 60_001)
  }

  @Test("there are at most 4,096 declarations, and a megabyte of them")
  func limits() {
    let shapes = ShapeDictionary()
    for index in 0..<5000 {
      let declaration = shape(index)
      declaration.withView { #expect(shapes.add($0) == (index < 4096)) }
    }
    #expect(shapes.count == 4096)
    let large = ShapeDictionary()
    var made = 0
    for index in 0..<100 {
      let buffer = ByteBuffer()
      let text = Array("\(index)".utf8) + [UInt8](repeating: 0x61, count: 60_000)
      Array(text.prefix(60_000)).withView { Declaration.append(.user, $0, to: buffer) }
      if large.add(buffer.view) { made += 1 }
    }
    #expect(made == ShapeDictionary.byteCountLimit / 60_001)
  }

  @Test("bytes that are no declaration are not taken for one")
  func soundness() {
    #expect(shape(1).withView { Declaration.isSound($0) })
    for count in 0..<shape(1).count { #expect(!Array(shape(1).prefix(count)).withView { Declaration.isSound($0) }) }
    #expect(!(shape(1) + [0]).withView { Declaration.isSound($0) })
    for bytes: [UInt8] in [[0, 1], [5, 1], [1, 1, 0x54, 1, 0, 0xFF, 1, 0x6B], [3, 0xFF], [2, 0, 0, 0, 0, 0, 0, 0, 0]] {
      #expect(!bytes.withView { Declaration.isSound($0) })
    }
  }
}
