/// A page that is read without explanation: a table of facts, and charts.
struct ReportPage {
    var title = ""
    var lead = ""
    var sections: [Section]

    /// A heading with its text, tables and charts, in this order. Each line of the text is a paragraph.
    struct Section {
        var title: String
        var text = ""
        var tables: [Table] = []
        var charts: [Chart] = []
    }

    /// The first column is text, aligned left. The others are numbers, aligned right.
    struct Table {
        var head: [String]
        var rows: [[String]]
    }

    struct Chart {
        var title: String
        /// What the y axis counts: "calls a second", "ms", "%".
        var unit: String
        var series: [Series]
        var bands: [Band] = []
        /// Whether the y axis is logarithmic. Values that are not positive are then gaps.
        var isLogarithmic = false
        /// The upper end of the y axis. Higher values are drawn at the edge. `nil`: a round number above all values.
        var maximum: Double?
        /// What the x axis counts; nil for seconds.
        var xUnit: String?
    }

    struct Series {
        var name: String
        /// Ordered by `x`. A `y` that is `nil`, NaN or infinite is a gap.
        var points: [(x: Double, y: Double?)]
        var style = Style.line
    }

    enum Style { case line, area, dashed }

    /// A shaded interval, in seconds.
    struct Band {
        var from: Double
        var to: Double
        var name: String
    }
}
