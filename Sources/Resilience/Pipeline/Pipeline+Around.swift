extension Pipeline {
    /// Returns a pipeline like this one, with one around policy outermost and another one innermost.
    /// - Parameter isIdle: Whether the two would do nothing now: then calls skip them.
    package func surrounded(
        by outermost: some AroundPolicy, andOperationBy innermost: some AroundPolicy,
        unless isIdle: @escaping @Sendable () -> Bool
    ) -> Pipeline {
        Pipeline(
            like: self,
            elements: [Element(kind: .around(outermost))] + elements + [Element(kind: .around(innermost))],
            bypass: PipelineCore.Bypass(outermost: core.outermost, isOpen: isIdle))
    }
}
