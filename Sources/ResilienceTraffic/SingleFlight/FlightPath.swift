/// The flights that a task is part of: it must not wait for them.
enum FlightPath {
    @TaskLocal static var current: [Flight] = []
}
