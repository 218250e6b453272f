// The modules that a service may import together: this file compiles only while each name has one meaning.
// `.ci/docs` compiles it.
import Foundation
import GRDB
import GRPCCore
import Hummingbird
import Logging
import Metrics
import NIOCore
import Resilience
import ResilienceTraffic
import ResilienceHTTP
import ResilienceSync

enum Names {
    static let ofResilience: [Any.Type] = [
        Pipeline.self, CircuitBreaker.self, Retry.self, Timeout.self, Bulkhead.self, Throttle.self,
        AdaptiveThrottle.self, AdaptiveThrottleExceeded.self, Hedge.self, HedgeDelay.self, Chaos.self,
        ChaosInjection.self, ChaosScope.self, InjectedFault.self, Fallback<Int>.self,
        EndpointPool<Int>.self, OutlierEjection.self, SlowStart.self, NoEndpoint.self,
        Backoff.self, Verdict.self, Classifier.self, RunOptions.self, CallAttempt.self, CallFailure.self,
        RetryBudget.self,
        PolicyRegistry<String, Bulkhead>.self, PipelineRegistry<String>.self, PolicyEvent.self,
        (any PolicyObserver).self,
        PolicyObservers.self, PolicySlot.self, PolicyEntry.self, PolicyExit.self,
        PolicyOutcome.self, (any PolicyError).self, (any Rejection).self, CircuitOpen.self, BulkheadFull.self,
        ThrottleExceeded.self, TimedOut.self, MonotonicInstant.self, TimeBaseAlarm.self, ThrottleRate.self,
        HTTPStatusError.self,
        RequestSemantics.self, SyncQueue.self, Mutation.self, MemoryStore.self, SQLiteStore.self,
    ]

    // These types can't be copied, so the list can't contain them.
    static func ofResilience(_ permit: borrowing PolicyPermit, _ call: borrowing PolicyCall) {}

    static let ofFoundation: [Any.Type] = [
        Data.self, Date.self, URL.self, UUID.self, Locale.self, Calendar.self, TimeZone.self, DateFormatter.self,
        JSONEncoder.self, JSONDecoder.self, FileManager.self, Bundle.self, ProcessInfo.self, Process.self,
        Progress.self,
        Operation.self, OperationQueue.self, Notification.self, NotificationCenter.self, UserDefaults.self, Thread.self,
        RunLoop.self, Decimal.self, CharacterSet.self, IndexPath.self, Measurement<Unit>.self, NSLock.self,
    ]

    static let ofNIOCore: [Any.Type] = [
        ByteBuffer.self, ByteBufferAllocator.self, (any EventLoop).self, (any EventLoopGroup).self,
        EventLoopFuture<Int>.self, EventLoopPromise<Int>.self, (any Channel).self, (any ChannelHandler).self,
        (any ChannelInboundHandler).self, (any ChannelOutboundHandler).self, ChannelHandlerContext.self,
        ChannelPipeline.self, ChannelOptions.self, ChannelError.self, NIODeadline.self, TimeAmount.self,
        SocketAddress.self, Scheduled<Int>.self, RepeatedTask.self, NIOAny.self, CircularBuffer<Int>.self,
        NIOAsyncChannel<ByteBuffer, ByteBuffer>.self, NIOLoopBound<Int>.self,
    ]

    static let ofHummingbird: [Any.Type] = [
        Router<BasicRequestContext>.self, RouterGroup<BasicRequestContext>.self, Request.self, Response.self,
        RequestBody.self, ResponseBody.self, (any RequestContext).self, BasicRequestContext.self, HTTPError.self,
        (any ApplicationProtocol).self, ApplicationConfiguration.self, Environment.self, Parameters.self,
        MediaType.self, Cookie.self, CacheControl.self, (any ResponseEncodable).self, (any ResponseGenerator).self,
        LogRequestsMiddleware<BasicRequestContext>.self, MetricsMiddleware<BasicRequestContext>.self,
        CORSMiddleware<BasicRequestContext>.self, URLEncodedFormDecoder.self,
    ]

    static let ofGRDB: [Any.Type] = [
        Database.self, DatabaseQueue.self, DatabasePool.self, (any DatabaseReader).self, (any DatabaseWriter).self,
        DatabaseMigrator.self, DatabaseError.self, DatabaseValue.self, Configuration.self, Row.self, Column.self,
        (any FetchableRecord).self, (any PersistableRecord).self, (any MutablePersistableRecord).self,
        (any TableRecord).self, SQL.self, Statement.self, StatementArguments.self, DatabaseRegion.self,
        DatabaseRegionObservation.self, DatabaseDateComponents.self, Table<Row>.self,
    ]

    static let ofLogging: [Any.Type] = [
        Logger.self, Logger.Level.self, Logger.Message.self, Logger.Metadata.self, Logger.MetadataValue.self,
        Logger.MetadataProvider.self, LoggingSystem.self, (any LogHandler).self, StreamLogHandler.self,
        MultiplexLogHandler.self, SwiftLogNoOpLogHandler.self,
    ]

    // All names except `Timer`, which Foundation also has.
    static let ofMetrics: [Any.Type] = [
        Counter.self, FloatingPointCounter.self, Gauge.self, Meter.self, Recorder.self, TimeUnit.self,
        MetricsSystem.self, (any MetricsFactory).self, (any CounterHandler).self, (any RecorderHandler).self,
        (any TimerHandler).self, (any MeterHandler).self, MultiplexMetricsHandler.self, NOOPMetricsHandler.self,
    ]

    static let ofGRPCCore: [Any.Type] = [
        CallOptions.self, RPCError.self, Metadata.self, Status.self, MethodDescriptor.self, ServiceDescriptor.self,
        MethodConfig.self, ServiceConfig.self, RetryPolicy.self, HedgingPolicy.self, RetryThrottle.self,
        ClientRequest<Int>.self, ClientResponse<Int>.self, StreamingClientRequest<Int>.self, ServerRequest<Int>.self,
        ServerResponse<Int>.self, ServerContext.self, ClientContext.self, (any ClientInterceptor).self,
        (any ServerInterceptor).self, RPCWriter<Int>.self, CompressionAlgorithm.self, RuntimeError.self,
    ]
}
