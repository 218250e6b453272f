/// Collects components one by one, and keeps those that a report lists: the worst first, then the required ones, then
/// the others in the order of their sources and by name.
///
/// It holds no more than the limit, however many components there are.
struct HealthRanking {
    private struct Entry {
        let source: Int
        let component: HealthComponent
    }

    private let limit: Int
    private var entries: [Entry] = []
    private(set) var totals = HealthTotals()
    private(set) var status = HealthStatus.up

    init(limit: Int) { self.limit = max(0, limit) }

    mutating func add(_ component: HealthComponent, source: Int) {
        totals.count(component)
        status = max(status, component.status)
        let entry = Entry(source: source, component: component)
        guard let last = entries.last, entries.count >= limit else {
            if limit > 0 { entries.insert(entry, at: index(of: entry)) }
            return
        }
        guard Self.precedes(entry, last) else { return }
        entries.removeLast()
        entries.insert(entry, at: index(of: entry))
    }

    /// The kept components, in order. If two keys have the same description, their ids are made different.
    func report(name: String) -> HealthReport {
        var totals = totals
        totals.omitted = totals.components - entries.count
        var seen: [String: Int] = [:]
        let components = entries.map { entry in
            var component = entry.component
            let count = (seen[component.id] ?? 0) + 1
            seen[component.id] = count
            if count > 1 { component.id += "#\(count)" }
            return component
        }
        return HealthReport(name: bounded(name), status: status, totals: totals, components: components)
    }

    private func index(of entry: Entry) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if Self.precedes(entry, entries[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private static func precedes(_ lhs: Entry, _ rhs: Entry) -> Bool {
        let (one, other) = (lhs.component, rhs.component)
        if one.status != other.status { return one.status > other.status }
        if one.isRequired != other.isRequired { return one.isRequired }
        if lhs.source != rhs.source { return lhs.source < rhs.source }
        return one.name < other.name
    }
}
