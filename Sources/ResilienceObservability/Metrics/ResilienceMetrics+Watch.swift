#if Metrics
    public import Resilience
    public import ResilienceSync

    /// What is watched is kept, and read by each ``sample()``. Policies with the same names are added up, so that
    /// `resilience_circuits` is the number of circuits in a state: do not watch the same policy twice.
    extension ResilienceMetrics {
        /// Watches a pipeline: its breakers, throttles, bulkheads and retry budgets.
        /// - Parameter pipeline: The pipeline.
        public func watch(_ pipeline: Pipeline) { add { $0.add(HealthComponent(pipeline)) } }

        /// Watches the pipelines of a registry, those to come too. Reading them does not count as a use.
        ///
        /// The gauges have the pipelines' names, not the keys: name each pipeline after its key.
        /// - Parameter registry: The registry.
        public func watch<Key>(_ registry: PipelineRegistry<Key>) {
            add { readings in
                for pipeline in registry.values.values { readings.add(HealthComponent(pipeline)) }
            }
        }

        /// Watches the policies of a registry, those to come too. Reading them does not count as a use.
        ///
        /// The gauges have the policies' names, not the keys: name each policy after its key.
        /// - Parameter registry: The registry.
        public func watch<Key, Value: StatusReporting>(_ registry: PolicyRegistry<Key, Value>) {
            add { readings in
                for policy in registry.values.values {
                    readings.add(HealthComponent(policy.name, policy.content))
                }
            }
        }

        /// Watches a policy that is used without a pipeline. One that is in a pipeline is watched with it.
        /// - Parameter policy: The policy.
        public func watch(_ policy: some StatusReporting) {
            add { $0.add(HealthComponent(policy.name, policy.content)) }
        }

        /// Watches a cache: its entries, and its loads.
        /// - Parameter cache: The cache.
        public func watch<Key, Value>(_ cache: CallCache<Key, Value>) {
            add { $0.add(HealthComponent(cache.name, HealthSource.Content(cache: cache.status))) }
        }

        /// Watches the flights of a single flight.
        /// - Parameter flights: The single flight.
        public func watch<Key, Value>(_ flights: SingleFlight<Key, Value>) {
            add { $0.add(HealthComponent(flights.name, HealthSource.Content(flights: flights.status))) }
        }

        /// Watches a sync queue. While its store can't be read, it has no gauges but `resilience_sync_up`, which is 0.
        ///
        /// The policies of its pipeline are not watched with it: watch the pipeline, too.
        /// - Parameter queue: The queue.
        public func watch(_ queue: SyncQueue) {
            add { readings in
                var health: QueueHealth
                do {
                    health = QueueHealth(try await queue.status, at: queue.pipeline.timeBase.now)
                } catch {
                    health = QueueHealth(problem: "the store failed")
                }
                readings.add(HealthComponent(id: "", name: queue.name, queue: health))
            }
        }
    }

    extension HealthComponent {
        /// A component as its gauges need it.
        fileprivate init(_ name: String, _ content: HealthSource.Content) {
            self.init(id: "", name: name, group: nil, isRequired: false, content: content)
        }

        fileprivate init(_ pipeline: Pipeline) { self.init(pipeline.name, pipeline.content) }
    }
#endif
