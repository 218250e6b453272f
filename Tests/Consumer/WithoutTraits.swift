// A program that uses declarations behind traits, without the traits. `.ci/forgotten-traits` compiles it, and looks for
// the compiler's message at each line that ends with the names of traits.
import Resilience
import ResilienceAsyncHTTPClient
import ResilienceConfiguration
import ResilienceDashboard
import ResilienceFleet
import ResilienceGRPC
import ResilienceHTTP
import ResilienceHummingbird
import ResilienceObservability
import ResilienceSync
import ResilienceTesting

func client(_ client: ResilientHTTPClient) {}  // AsyncHTTPClient

func pipelines() throws {
    let pipelines = try ConfiguredPipelines(["catalog"], file: "resilience.json")  // Configuration
    _ = ConfigurationService(pipelines)  // Configuration ServiceLifecycle
}

func dashboard() { _ = DashboardConfiguration() }  // Dashboard

func fleet() { _ = Fleet("payments", engine: RedisEngine(host: "redis.internal")) }  // Redis

func transport(_ http2: Int, through pipeline: Pipeline) {
    _ = PipelineClientTransport(http2, through: pipeline)  // GRPC
    _ = PipelineServerInterceptor(through: pipeline)  // GRPC
}

func semantics(_ request: [String]) { _ = RequestSemantics(request) }  // HTTPTypes

func middleware(_ pipeline: Pipeline) {
    _ = CallFailureMiddleware()  // Hummingbird
    _ = ResilienceMiddleware(pipeline)  // Hummingbird
    _ = ThrottleMiddleware(limit: .perSecond(50)) { _, _ in nil }  // Hummingbird
    _ = CallDeadlineMiddleware()  // Hummingbird
    _ = CallOriginMiddleware()  // Hummingbird
}

func observers(_ pipeline: Pipeline, _ logger: Int) {
    _ = PolicyObservers(PolicyLogger(logger))  // Logging
    _ = ResilienceMetrics()  // Metrics
    _ = pipeline.traced()  // Tracing
}

func queue(_ path: String, pipeline: Pipeline) throws {
    _ = SyncQueue(store: try SQLiteStore(path: path), pipeline: pipeline) { _ in }  // SQLite
    _ = try PostgreSQLEngine(path)  // PostgreSQL
}

func service(_ queue: SyncQueue) { _ = SyncService(queue) }  // ServiceLifecycle

func server() async throws { _ = try await StubServer.start() }  // StubServer
