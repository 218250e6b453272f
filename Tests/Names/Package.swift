// swift-tools-version: 6.2
import PackageDescription

// One file that imports Resilience beside what a service imports: see Sources/Names.
let package = Package(
    name: "names",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-resilience", path: "../..", traits: ["SQLite"]),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.10.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.0.0"),
    ],
    targets: [
        .target(
            name: "Names",
            dependencies: [
                .product(name: "Resilience", package: "swift-resilience"),
                .product(name: "ResilienceHTTP", package: "swift-resilience"),
                .product(name: "ResilienceSync", package: "swift-resilience"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
