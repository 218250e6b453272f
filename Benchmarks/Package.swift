// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that importers of ours never get the tools that measure it.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-resilience", path: "..", traits: ["SQLite", "Logging", "Metrics", "Tracing"]),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.9.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "Policies",
            dependencies: ["Calls", .product(name: "Benchmark", package: "benchmark")],
            path: "Benchmarks/Policies",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        ),
        .target(
            name: "Calls",
            dependencies: [
                .product(name: "Resilience", package: "swift-resilience"),
                .product(name: "ResilienceTraffic", package: "swift-resilience"),
                .product(name: "ResilienceBlocking", package: "swift-resilience"),
                .product(name: "ResilienceFleet", package: "swift-resilience"),
            ]),
        .executableTarget(name: "Allocations", dependencies: ["Calls"]),
        .executableTarget(name: "Leases", dependencies: ["Calls"]),
        .executableTarget(
            name: "Simulated",
            dependencies: [
                .product(name: "Resilience", package: "swift-resilience"),
                .product(name: "ResilienceSimulation", package: "swift-resilience"),
            ]),
        .executableTarget(
            name: "Keys", dependencies: [.product(name: "Resilience", package: "swift-resilience")]),
        .executableTarget(
            name: "Observers",
            dependencies: [
                .product(name: "Resilience", package: "swift-resilience"),
                .product(name: "ResilienceObservability", package: "swift-resilience"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ]),
        .executableTarget(
            name: "Backlog",
            dependencies: [
                .product(name: "Resilience", package: "swift-resilience"),
                .product(name: "ResilienceSync", package: "swift-resilience"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
}
