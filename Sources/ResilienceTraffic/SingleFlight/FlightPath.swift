/// The flights that the current task is part of, so it must not wait for them.
enum FlightPath {
    @TaskLocal static var current: [Flight] = []
}
