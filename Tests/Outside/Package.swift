// swift-tools-version: 6.2
import PackageDescription

// Uses swift-resilience from another package, and has a dependency that swift-resilience does not need.
let package = Package(
    name: "outside",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-resilience", path: "../..", traits: ["GRPC", "Logging", "Metrics", "Configuration"]),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.2.0"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.0.0"),
    ],
    targets: [
        // The policy of Docs/WritingAPolicy.md.
        .testTarget(
            name: "OwnPolicyTests",
            dependencies: [
                .product(name: "Resilience", package: "swift-resilience"),
                .product(name: "ResilienceConfiguration", package: "swift-resilience"),
                .product(name: "ResilienceObservability", package: "swift-resilience"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ]),
        // RPCs over real HTTP/2 connections on loopback.
        .testTarget(
            name: "GRPCLoopbackTests",
            dependencies: [
                .product(name: "Resilience", package: "swift-resilience"),
                .product(name: "ResilienceGRPC", package: "swift-resilience"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
