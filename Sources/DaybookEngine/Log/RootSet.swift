/// The trees that a store keeps by number; the layer above gives them meaning.
package struct RootSet: Sendable, Equatable {
  package static let count = 8
  // A tuple, because an array of fixed size would need a newer system than this package requires.
  private var roots: (TreeRoot, TreeRoot, TreeRoot, TreeRoot, TreeRoot, TreeRoot, TreeRoot, TreeRoot) = (
    .empty, .empty, .empty, .empty, .empty, .empty, .empty, .empty
  )
  package init() {}

  package subscript(_ index: Int) -> TreeRoot {
    get {
      switch index {
      case 0: roots.0
      case 1: roots.1
      case 2: roots.2
      case 3: roots.3
      case 4: roots.4
      case 5: roots.5
      case 6: roots.6
      case 7: roots.7
      default: preconditionFailure("trees have the numbers 0 to 7")
      }
    }
    set {
      switch index {
      case 0: roots.0 = newValue
      case 1: roots.1 = newValue
      case 2: roots.2 = newValue
      case 3: roots.3 = newValue
      case 4: roots.4 = newValue
      case 5: roots.5 = newValue
      case 6: roots.6 = newValue
      case 7: roots.7 = newValue
      default: preconditionFailure("trees have the numbers 0 to 7")
      }
    }
  }

  var array: [TreeRoot] { (0..<RootSet.count).map { self[$0] } }
  init(_ array: [TreeRoot]) {
    for (index, root) in array.prefix(RootSet.count).enumerated() { self[index] = root }
  }

  package static func == (left: RootSet, right: RootSet) -> Bool { left.array == right.array }
}
