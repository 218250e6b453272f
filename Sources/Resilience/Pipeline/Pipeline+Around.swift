extension Pipeline {
    /// Returns a pipeline like this one, with one around policy outermost and another one innermost.
    package func surrounded(
        by outermost: some AroundPolicy, andOperationBy innermost: some AroundPolicy
    ) -> Pipeline {
        Pipeline(
            like: self,
            elements: [Element(kind: .around(outermost))] + elements + [Element(kind: .around(innermost))])
    }
}
