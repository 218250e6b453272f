/// Positions in order, in chunks, so that a change moves one chunk instead of all positions after it.
struct SortedPositions: Equatable {
    private static let chunkSize = 512

    private var chunks: [[Int64]] = []

    static func == (first: SortedPositions, second: SortedPositions) -> Bool {
        first.chunks.joined().elementsEqual(second.chunks.joined())
    }

    var isEmpty: Bool { chunks.isEmpty }
    var first: Int64? { chunks.first?.first }
    var last: Int64? { chunks.last?.last }

    /// The lowest position above another.
    func next(after position: Int64) -> Int64? {
        guard position < .max else { return nil }
        let chunk = chunk(for: position + 1)
        return chunk < chunks.count ? chunks[chunk][Self.index(of: position + 1, in: chunks[chunk])] : nil
    }

    /// The positions above another, in order, up to the limit.
    func page(after position: Int64, limit: Int) -> [Int64] {
        guard position < .max else { return [] }
        var page: [Int64] = []
        var chunk = chunk(for: position + 1)
        while chunk < chunks.count, page.count < limit {
            let start = page.isEmpty ? Self.index(of: position + 1, in: chunks[chunk]) : 0
            page += chunks[chunk][start...].prefix(limit - page.count)
            chunk += 1
        }
        return page
    }

    mutating func insert(_ position: Int64) {
        let chunk = chunk(for: position)
        if chunk == chunks.count {
            // Above all others, like almost every new position.
            if let last = chunks.indices.last, chunks[last].count < Self.chunkSize {
                chunks[last].append(position)
            } else {
                chunks.append([position])
            }
            return
        }
        let index = Self.index(of: position, in: chunks[chunk])
        if chunks[chunk][index] == position { return }
        chunks[chunk].insert(position, at: index)
        if chunks[chunk].count > Self.chunkSize {
            let upper = Array(chunks[chunk][(Self.chunkSize / 2)...])
            chunks[chunk].removeSubrange((Self.chunkSize / 2)...)
            chunks.insert(upper, at: chunk + 1)
        }
    }

    mutating func remove(_ position: Int64) {
        let chunk = chunk(for: position)
        guard chunk < chunks.count else { return }
        let index = Self.index(of: position, in: chunks[chunk])
        guard chunks[chunk][index] == position else { return }
        chunks[chunk].remove(at: index)
        if chunks[chunk].isEmpty { chunks.remove(at: chunk) }
    }

    /// The first chunk whose last position is the given position or above it.
    private func chunk(for position: Int64) -> Int {
        Self.lowest(chunks.count) { chunks[$0][chunks[$0].count - 1] >= position }
    }

    private static func index(of position: Int64, in chunk: [Int64]) -> Int {
        lowest(chunk.count) { chunk[$0] >= position }
    }

    /// The lowest index for which a condition holds; it must also hold for all higher indexes.
    private static func lowest(_ count: Int, _ holds: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
