/// The order in which the records of a graph are handed out.
package enum GraphOrder {
  /// Depth first from vertex 0, each vertex after those that it refers to, as far as they do not refer back.
  /// - Parameter targets: for each vertex those that it refers to. There is at least one vertex.
  package static func depthFirst(_ targets: [[Int]]) -> [Int] {
    var order: [Int] = []
    order.reserveCapacity(targets.count)
    var isSeen = [Bool](repeating: false, count: targets.count)
    var path: [(vertex: Int, next: Int)] = [(0, 0)]
    isSeen[0] = true
    while let (vertex, next) = path.last {
      if next == targets[vertex].count {
        path.removeLast()
        order.append(vertex)
        continue
      }
      path[path.count - 1].next += 1
      let target = targets[vertex][next]
      if !isSeen[target] {
        isSeen[target] = true
        path.append((target, 0))
      }
    }
    return order
  }
}
