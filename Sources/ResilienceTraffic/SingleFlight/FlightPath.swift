/// The flights of a task: it must not wait for them.
enum FlightPath {
    @TaskLocal static var current: [Flight] = []
}
