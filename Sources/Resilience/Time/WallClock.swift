#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
    #if canImport(SwiftOverlayShims)
        // The compiler takes `timespec` for a part of this module if another file has loaded it first.
        import SwiftOverlayShims
    #endif
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

/// The wall clock, which people can set: use it only for values that are stored across restarts, and for HTTP dates.
package enum WallClock {
    /// Milliseconds since 1970-01-01 00:00:00 UTC; only whole seconds on Windows and WASI.
    package static var milliseconds: Int64 {
        #if canImport(WASILibc) || canImport(ucrt)
            return Int64(time(nil)) &* 1000
        #else
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000
        #endif
    }

    /// Whole seconds since 1970, rounded down, so that a wait until a date is rounded up.
    package static var epochSeconds: Int64 { milliseconds / 1000 }
}
