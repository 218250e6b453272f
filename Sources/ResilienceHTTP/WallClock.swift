#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(WASILibc)
    import WASILibc
#elseif canImport(ucrt)
    import ucrt
#else
    #error("No C library with a wall clock is known for this platform.")
#endif

/// The machine's calendar time. HTTP dates are the only thing here that may ask for it.
enum WallClock {
    /// Whole seconds since 1970-01-01 00:00:00 UTC, rounded down, so that a wait until a date comes out rounded up.
    static var epochSeconds: Int64 { Int64(time(nil)) }
}
