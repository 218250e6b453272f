#if Configuration
    public import Configuration
    public import Resilience

    /// Pipelines and registries of the policies of `Resilience`, whose settings come from a configuration.
    public typealias ConfiguredPipelines = ConfiguredPipelinesOf<Pipeline.Settings>

    /// Pipelines and registries whose settings come from a configuration, and follow it while the process runs.
    ///
    /// ```swift
    /// let pipelines = try ConfiguredPipelines(["catalog"], reader: config)
    /// Task { await pipelines.run() }              // or in a service
    /// let page = try await pipelines["catalog"].run {
    ///     try await client.page()
    /// }
    /// ```
    ///
    /// The configuration contains, for example in JSON:
    ///
    /// ```json
    /// {"resilience": {"pipelines": {"catalog": {
    ///     "retry": {"maxRetries": 2},
    ///     "attemptTimeout": {"limitSeconds": 5}
    /// }}}}
    /// ```
    ///
    /// A change takes effect as a whole, or not at all: if one setting of a pipeline or a registry is invalid, all of
    /// its old settings stay, and its observers receive a ``ConfigurationEvent/rejected(_:)``, with the path, the value
    /// and the range of each invalid setting. No configuration ends the process.
    ///
    /// Policies keep their counts, permits and waiting calls over a change, if they can take over the new settings
    /// while they run: all of a breaker, the limit and the queue of a bulkhead, the rate and the burst of a throttle.
    /// Otherwise the policy is replaced, and the event names it.
    ///
    /// Ask for a pipeline for each call, as above: a pipeline that you keep does not follow the configuration.
    ///
    /// ``ConfiguredPipelines`` have the policies of `Resilience`. For other policies, name your own `PipelineSettings`:
    ///
    /// ```swift
    /// let pipelines = try ConfiguredPipelinesOf<ShopSettings>(
    ///     ["catalog"], reader: config)
    /// ```
    ///
    /// See <doc:ConfigurationSchema> for all names.
    public final class ConfiguredPipelinesOf<Settings: PipelineSettings>: Sendable {
        /// Makes the pipeline of a name from its settings, and adds parts that no configuration contains: a classifier,
        /// a health check.
        ///
        /// An invalid setting in the closure is rejected like an invalid setting in the configuration.
        public typealias Make = @Sendable (_ name: String, _ settings: Settings) -> Pipeline

        struct State {
            var pipelines: [String: ConfiguredPipeline] = [:]
            var registries: [String: ConfiguredRegistry] = [:]
            /// The number of times that the configuration was read for a change: keeps an older reading from replacing
            /// a newer one.
            var reloads: UInt64 = 0
            var turn = ReloadTurn()
            /// The unread names that were last reported.
            var unknown: [UnknownSetting] = []
        }

        /// The reader's file, and how often to look at it; nil if only the reader knows its source.
        private let file: (file: SettingsFile, interval: Duration)?
        private let reader: ConfigReader
        private let path: [String]
        private let timeBase: any TimeBase
        private let makePipeline: Make
        private let state = Locked(State())

        /// The observers of all changes, including rejected ones.
        public let observers: PolicyObservers

        /// Makes pipelines from the present configuration.
        ///
        /// - Parameters:
        ///   - names: The names of the pipelines that must exist from the start. Other pipelines are made when first
        ///     requested.
        ///   - reader: The configuration. If it is scoped, the paths in errors begin there.
        ///   - key: The place of the settings: for "catalog", "resilience.pipelines.catalog" by default.
        ///   - timeBase: The clock of the pipelines and of their policies.
        ///   - observers: The observers of changes, and of the policies' events unless you give `make`.
        ///   - make: Makes a pipeline; nil for one with only the policies of the configuration.
        /// - Throws: `InvalidSettings`, with everything that is invalid in the pipelines of `names`.
        public convenience init(
            _ names: [String] = [], reader: ConfigReader, at key: ConfigKey = "resilience",
            timeBase: any TimeBase = .system, observers: PolicyObservers = PolicyObservers(), make: Make? = nil
        ) throws(InvalidSettings) {
            try self.init(
                names, file: nil, reader: reader, at: key, timeBase: timeBase, observers: observers, make: make)
        }

        /// Makes pipelines from the present content of a JSON file, overridden by environment variables.
        ///
        /// ```swift
        /// let pipelines = try ConfiguredPipelines(
        ///     ["catalog"], file: "resilience.json", observers: observers)
        /// ```
        ///
        /// Here, unlike with a reader, all names in the file are known. The observers receive
        /// ``ConfigurationEvent/unknown(_:)`` with unread names, now and after each change, and
        /// ``ConfigurationEvent/unreadable(_:)``, once, if the file is gone or no longer valid JSON.
        /// - Parameters:
        ///   - names: The names of the pipelines that must exist from the start. Other pipelines are made when first
        ///     requested.
        ///   - path: The path of the file, at most 1 MiB large.
        ///   - interval: How often ``run()`` looks at the file, above 0; 5 seconds by default.
        ///   - key: The place of the settings: for "catalog", "resilience.pipelines.catalog" by default.
        ///   - timeBase: The clock of the pipelines and of their policies.
        ///   - observers: The observers of changes, and of the policies' events unless you give `make`.
        ///   - make: Makes a pipeline; nil for one with only the policies of the configuration.
        /// - Throws: `InvalidSettings`, if the file can't be read, or with everything that is invalid in the pipelines
        ///   of `names`.
        public convenience init(
            _ names: [String] = [], file path: String, lookingEvery interval: Duration = .seconds(5),
            at key: ConfigKey = "resilience", timeBase: any TimeBase = .system,
            observers: PolicyObservers = PolicyObservers(), make: Make? = nil
        ) throws(InvalidSettings) {
            let file: SettingsFile
            do {
                file = try SettingsFile(path)
            } catch {
                throw InvalidSettings(problems: [
                    InvalidSetting(
                        subject: "ConfiguredPipelines", parameter: "file", value: path,
                        requirement: "must be a file of settings: \(error)")
                ])
            }
            try self.init(
                names, file: (file, interval), at: key, timeBase: timeBase, observers: observers, make: make)
        }

        convenience init(
            _ names: [String], file: (SettingsFile, Duration), at key: ConfigKey = "resilience",
            timeBase: any TimeBase, observers: PolicyObservers, make: Make? = nil
        ) throws(InvalidSettings) {
            try self.init(
                names, file: (file.0, max(.milliseconds(1), file.1)),
                reader: ConfigReader(providers: [EnvironmentVariablesProvider(), file.0]), at: key, timeBase: timeBase,
                observers: observers, make: make)
        }

        private init(
            _ names: [String], file: (SettingsFile, Duration)?, reader: ConfigReader, at key: ConfigKey,
            timeBase: any TimeBase, observers: PolicyObservers, make: Make?
        ) throws(InvalidSettings) {
            self.file = file
            self.reader = reader
            path = key.components
            self.timeBase = timeBase
            self.observers = observers
            makePipeline =
                make ?? { Pipeline($0, settings: $1, timeBase: timeBase, observers: observers) }
            var problems: [InvalidSetting] = []
            for name in names {
                do {
                    _ = try self[name]
                } catch {
                    problems += error.problems
                }
            }
            guard problems.isEmpty else { throw InvalidSettings(problems: problems) }
            tellUnknown()
        }

        /// The present pipeline of a name.
        ///
        /// If the name is new, the pipeline is made now; only then can its settings be invalid.
        ///
        /// - Parameter name: The name, from your source code. A pipeline is kept for each name, so use a registry if
        ///   names come from outside.
        /// - Returns: The pipeline. A later one may have other settings.
        /// - Throws: `InvalidSettings`, if the name is new and has no settings, or some are invalid.
        public subscript(name: String) -> Pipeline {
            get throws(InvalidSettings) {
                if let there = state.withLock({ $0.pipelines[name]?.pipeline }) { return there }
                return try kept(\.pipelines, name) { () throws(InvalidSettings) in
                    let tree = lookup.group(Settings.self, at: path(to: name))
                    return ConfiguredPipeline(try make(name, tree), tree)
                }.pipeline
            }
        }

        /// Returns the value of a name. If there is none, one is made; if the configuration changes meanwhile, it is
        /// made again.
        private func kept<Value: Sendable>(
            _ place: WritableKeyPath<State, [String: Value]>, _ name: String,
            _ make: () throws(InvalidSettings) -> Value
        ) throws(InvalidSettings) -> Value {
            while true {
                let (reloads, there) = state.withLock { ($0.reloads, $0[keyPath: place][name]) }
                if let there { return there }
                let made = try make()
                state.withLock { state in
                    guard state.reloads == reloads, state[keyPath: place][name] == nil else { return }
                    state[keyPath: place][name] = made
                }
            }
        }

        /// Returns a registry of pipelines, one for each key, with the settings of the configuration.
        ///
        /// ```swift
        /// let endpoints = try pipelines.registry("endpoints")
        /// let page = try await endpoints["/search"].run {
        ///     try await client.search()
        /// }
        /// ```
        ///
        /// The settings of all keys are at "resilience.registries.endpoints.default". In the registry's settings,
        /// "overrideNames" is a list of names, and "overrides.<name>" has the differing settings of one key. Its "key"
        /// names that key; by default it is the name itself.
        /// - Parameters:
        ///   - name: The registry's name. The same name returns the same registry; the first call decides the
        ///     parameters below.
        ///   - capacity: How many keys are kept before some are evicted, 1 or more.
        ///   - evictingAfter: How long a key must be unused before it may be evicted although it is not at rest; 0 or
        ///     more.
        /// - Throws: `InvalidSettings`, with everything that is invalid.
        public func registry(
            _ name: String, capacity: Int = 10_000, evictingAfter: Duration = .seconds(600)
        ) throws(InvalidSettings) -> PipelineRegistry<String> {
            try kept(\.registries, name) { () throws(InvalidSettings) in
                let path = path(toRegistry: name)
                let tree = RegistryTree(lookup, of: Settings.self, at: path)
                let settings = try valid(tree, at: path)
                let registry = try checked {
                    PipelineRegistry<String>(
                        capacity: capacity, evictingAfter: evictingAfter, timeBase: timeBase,
                        make: makeEntry(of: name, settings))
                }
                return ConfiguredRegistry(registry, tree)
            }.registry
        }

        // MARK: Following the configuration

        /// Follows the configuration until the task is cancelled.
        ///
        /// A failing provider is asked again after a growing wait of 1 to 60 seconds. This does not return when a
        /// service group of swift-service-lifecycle shuts down gracefully: use a `ConfigurationService` there, which
        /// needs the trait `ServiceLifecycle`.
        public func run() async {
            // Detached: if a deadline travels with the caller's task, it belongs to a request, and must not end this
            // work.
            let watching = Task.detached(executorPreference: timeBase.taskExecutor) { await self.watch() }
            await withTaskCancellationHandler {
                await watching.value
            } onCancel: {
                watching.cancel()
            }
        }

        private func watch() async {
            if let file { return await look(at: file.file, every: file.interval) }
            let watching = Pipeline("configuration", timeBase: timeBase, classifier: Classifier { _ in .transient }) {
                Retry(maxRetries: .max, backoff: .exponential(from: .seconds(1), cap: .seconds(60), jitter: .equal))
            }
            // It throws only if the task was cancelled, because the retries never run out.
            try? await watching.run {
                do {
                    try await reader.watchSnapshot { updates in
                        for await _ in updates { reload() }
                    }
                    guard !Task.isCancelled else { return }
                    throw WatchEnded()
                } catch {
                    if !Task.isCancelled { send(.unwatched("\(error)"), about: path.joined(separator: ".")) }
                    throw error
                }
            }
        }

        private func look(at file: SettingsFile, every interval: Duration) async {
            while await PolicyWaiter().wait(until: timeBase.now + interval, on: timeBase) == .expired {
                if hasChanged(file) { reload() }
            }
        }

        /// Reads the file, and reports if it can't be read.
        private func hasChanged(_ file: SettingsFile) -> Bool {
            let (hasChanged, problem) = file.look()
            if let problem { send(.unreadable("\(file.path): \(problem)"), about: path.joined(separator: ".")) }
            return hasChanged
        }

        /// Reports unread names in the file, if they have changed.
        private func tellUnknown() {
            guard let file else { return }
            let lookup = lookup
            let unknown = UnknownSetting.all(among: file.file.keys, of: Settings.self, at: path) { registry in
                lookup.names(at: path(toRegistry: registry) + ["overrideNames"])?.texts ?? []
            }
            let isNew = state.withLock { state in
                defer { state.unknown = unknown }
                return state.unknown != unknown
            }
            if isNew, !unknown.isEmpty { send(.unknown(unknown), about: path.joined(separator: ".")) }
        }

        /// Applies the present configuration, if it has changed.
        ///
        /// ``run()`` calls it at every change.
        ///
        /// If another task is applying the configuration, this returns at once, and that task applies it once more at
        /// the end. So many changes at once cost at most two applications.
        public func reload() {
            guard state.withLock({ $0.turn.begin() }) else { return }
            repeat {
                if let file { _ = hasChanged(file.file) }
                tellUnknown()
                let lookup = lookup
                let (pipelines, registries) = state.withLock { state in
                    state.reloads += 1
                    return (state.pipelines, state.registries)
                }
                for (name, pipeline) in pipelines.sorted(by: { $0.key < $1.key }) {
                    reload(pipeline, name, lookup)
                }
                for (name, registry) in registries.sorted(by: { $0.key < $1.key }) {
                    reload(registry, name, lookup)
                }
            } while state.withLock({ $0.turn.goesOn() })
        }

        private func reload(_ old: ConfiguredPipeline, _ name: String, _ lookup: SettingLookup) {
            let tree = lookup.group(Settings.self, at: path(to: name))
            guard tree != old.seen else { return }
            do {
                let (pipeline, dropped) = old.pipeline.adapted(to: try make(name, tree))
                let inTheWay =
                    dropped.isEmpty
                    ? []
                    : SettingChange.inTheWay(
                        from: old.applied, to: tree, of: Settings.self, at: path(to: name), on: timeBase
                    ) {
                        $0.adapted(to: $1).dropped.isEmpty
                    }
                // The old pipeline is released outside the lock: it may hold user code.
                let before = state.withLock {
                    $0.pipelines.updateValue(ConfiguredPipeline(pipeline, tree), forKey: name)
                }
                _ = before
                send(.applied(restarted: dropped, inTheWay: inTheWay), about: name)
            } catch {
                state.withLock { $0.pipelines[name]?.seen = tree }
                send(.rejected(error.problems), about: name)
            }
        }

        private func reload(_ old: ConfiguredRegistry, _ name: String, _ lookup: SettingLookup) {
            let path = path(toRegistry: name)
            let tree = RegistryTree(lookup, of: Settings.self, at: path)
            guard tree != old.seen else { return }
            // Valid or not, these settings need not be applied again.
            state.withLock { $0.registries[name]?.seen = tree }
            do {
                let make = makeEntry(of: name, try valid(tree, at: path))
                let outdated = try checked { old.registry.reconfigure(make: make) }
                if outdated.isEmpty { state.withLock { $0.registries[name]?.applied = tree } }
                send(
                    .registryApplied(
                        outdated: outdated.sorted(),
                        inTheWay: outdated.isEmpty
                            ? []
                            : tree.changes(from: old.applied, of: Settings.self, at: path, for: outdated, on: timeBase)),
                    about: name)
            } catch {
                send(.rejected(error.problems), about: name)
            }
        }

        /// Where the settings are.
        var keyPath: [String] { path }

        /// The paths below `keyPath` that are read, and the group of settings at each path; nil if the path itself is a
        /// setting.
        var known: [(path: [String], group: (any SettingsGroup.Type)?)] {
            let (pipelines, registries) = state.withLock { ($0.pipelines.keys, $0.registries.mapValues(\.seen)) }
            return pipelines.map { (["pipelines", $0], Settings.self) }
                + registries.flatMap { name, tree -> [(path: [String], group: (any SettingsGroup.Type)?)] in
                    let path = ["registries", name]
                    let overrides = tree.overrides.map { path + ["overrides", $0.name] }
                    return [(path + ["default"], Settings.self), (path + ["overrideNames"], nil)]
                        + overrides.flatMap { [($0, Settings.self), ($0 + ["key"], nil)] }
                }
        }

        private func send(_ event: ConfigurationEvent, about name: String) {
            guard !observers.isEmpty else { return }
            observers.send(PolicyEvent(policy: "configuration", pipeline: name, time: timeBase.now, detail: event))
        }

        // MARK: Reading and making

        private func path(to name: String) -> [String] { path + ["pipelines", name] }
        private func path(toRegistry name: String) -> [String] { path + ["registries", name] }

        /// The configuration as it is now.
        private var lookup: SettingLookup { SettingLookup(snapshot: reader.snapshot()) }

        private func make(_ name: String, _ tree: SettingTree?) throws(InvalidSettings) -> Pipeline {
            let configuration = try Settings(tree, at: path(to: name))
            return try checked { makePipeline(name, configuration) }
        }

        /// The settings of a registry, after a check that pipelines can be made from them.
        private func valid(_ tree: RegistryTree, at path: [String]) throws(InvalidSettings) -> RegistrySettings<
            Settings
        > {
            let settings = try RegistrySettings<Settings>(tree, at: path)
            _ = try checked { makePipeline("default", settings.standard) }
            for (key, configuration) in settings.overrides { _ = try checked { makePipeline(key, configuration) } }
            return settings
        }

        private func makeEntry(of registry: String, _ settings: RegistrySettings<Settings>)
            -> PipelineRegistry<String>.Make
        {
            { [makePipeline, timeBase, observers] key in
                let configuration = settings[key]
                do {
                    return try PolicySettings.checked { makePipeline(key, configuration) }
                } catch {
                    // If `make` fails with valid settings, only this key is affected.
                    let event = ConfigurationEvent.rejected((error as? InvalidSettings)?.problems ?? [])
                    observers.send(
                        PolicyEvent(
                            policy: "configuration", pipeline: "\(registry).\(key)", time: timeBase.now, detail: event))
                    return Pipeline(key, settings: configuration, timeBase: timeBase, observers: observers)
                }
            }
        }

        private func checked<Value>(_ make: () -> Value) throws(InvalidSettings) -> Value {
            do {
                return try PolicySettings.checked(make)
            } catch let error as InvalidSettings {
                throw error
            } catch {
                // Unreachable: `make` throws nothing.
                throw InvalidSettings(problems: [])
            }
        }
    }

    /// A pipeline in use, and the last settings that were read for it, whether applied or rejected.
    struct ConfiguredPipeline: Sendable {
        let pipeline: Pipeline
        /// The settings that the pipeline was made from.
        let applied: SettingTree?
        var seen: SettingTree?

        init(_ pipeline: Pipeline, _ settings: SettingTree?) {
            self.pipeline = pipeline
            applied = settings
            seen = settings
        }
    }

    /// A registry, and the last settings that were read for it, whether applied or rejected.
    struct ConfiguredRegistry: Sendable {
        let registry: PipelineRegistry<String>
        /// The last settings that all keys could take over.
        var applied: RegistryTree
        var seen: RegistryTree

        init(_ registry: PipelineRegistry<String>, _ settings: RegistryTree) {
            self.registry = registry
            applied = settings
            seen = settings
        }
    }

    /// The turn to apply the configuration: one task at a time has it, and applies again if other tasks asked
    /// meanwhile.
    struct ReloadTurn: Sendable {
        private var isTaken = false
        private var isAsked = false

        /// - Returns: Whether the caller has the turn; otherwise the task with the turn must continue.
        mutating func begin() -> Bool {
            isAsked = isTaken
            defer { isTaken = true }
            return !isTaken
        }

        /// - Returns: Whether the task with the turn must continue; otherwise the turn is over.
        mutating func goesOn() -> Bool {
            isTaken = isAsked
            isAsked = false
            return isTaken
        }
    }

    /// A provider ended its updates without a cancellation.
    private struct WatchEnded: Error, CustomStringConvertible {
        var description: String { "the provider's updates have ended" }
    }
#endif
