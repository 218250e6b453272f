extension Pipeline {
    /// Returns a pipeline with the same policies and observers, and with another classifier for the errors that its own
    /// classifier leaves to ``Classifier/standard``.
    ///
    /// For adapters, which know more about a call than the pipeline, for example whether its request may be sent twice.
    /// - Parameter next: The classifier that is asked second.
    package func classifying(otherwise next: Classifier) -> Pipeline {
        var copy = self
        let own = core.classifier
        copy.core = PipelineCore(
            name: core.name, timeBase: core.timeBase, classifier: Classifier { own.judge($0) ?? next.judge($0) },
            repetition: core.repetition, observers: core.observers, elements: core.elements)
        return copy
    }

    /// Returns a pipeline with the same policies and observers, and with adjusted verdicts of errors.
    ///
    /// For one call of an adapter that knows more about the call than the pipeline does, for example whether the call
    /// can be repeated. It costs only an allocation.
    /// - Parameter adjust: Receives an error and its present verdict, and returns its new verdict. It is not called for
    ///   a ``Rejection``.
    package func adjusting(_ adjust: @escaping @Sendable (any Error, Verdict) -> Verdict) -> Pipeline {
        var copy = self
        let own = core.classifier
        copy.core = PipelineCore(core, classifier: Classifier { adjust($0, own.verdict(for: $0)) })
        return copy
    }
}
