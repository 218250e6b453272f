extension ReportPage {
    /// One file that needs no network and no scripts, for phones and desktops, light and dark.
    func html() -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(title.escapedForMarkup)</title>
        <style>
        \(ChartDrawing.style)
        \(Self.style)
        </style>
        </head>
        <body>
        <main>
        <h1>\(title.escapedForMarkup)</h1>
        <div class="lead">\(Self.paragraphs(lead))</div>
        \(sections.map(\.html).joined(separator: "\n"))
        </main>
        </body>
        </html>

        """
    }

    private static let style = """
        *{box-sizing:border-box}
        body{margin:0;background:var(--back);color:var(--text);font:16px/1.5 system-ui,sans-serif}
        main{max-width:1040px;margin:auto;padding:24px 16px 48px;overflow-wrap:break-word}
        h1{font-size:28px;line-height:1.2;margin:0 0 8px}h2{font-size:20px;line-height:1.3;margin:40px 0 8px}
        p{margin:0 0 8px;max-width:72ch}.lead{color:var(--dim);font-size:18px}
        .table{overflow-x:auto;margin:16px 0;background:linear-gradient(270deg,var(--back) 50%,#0000)
        100%/48px 100% local,
        linear-gradient(270deg,var(--rule),#0000) 100%/20px 100%;background-repeat:no-repeat}
        table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}
        th,td{padding:6px 0 6px clamp(10px,2vw,24px);text-align:right;vertical-align:bottom}
        tr{border-bottom:1px solid var(--rule)}
        td{white-space:nowrap}thead th{color:var(--dim);font-weight:600}
        th:first-child{padding-left:0;text-align:left;min-width:8em}tbody th{font-weight:400}
        .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:28px 32px}
        figure{margin:8px 0 0;min-width:0;break-inside:avoid}figcaption b{font-weight:600}
        .unit{color:var(--dim);font-size:14px}.legend{display:flex;flex-wrap:wrap;gap:0 18px;font-size:13px}
        .legend span{display:flex;align-items:center;gap:6px}.legend svg{flex:none}
        .plot{display:block;width:calc(100% - 64px);margin:6px 16px 0 48px;overflow:visible}
        """

    fileprivate static func paragraphs(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).map { "<p>\(String($0).escapedForMarkup)</p>" }.joined(separator: "\n")
    }
}

extension ReportPage.Section {
    fileprivate var html: String {
        """
        <section>
        <h2>\(title.escapedForMarkup)</h2>
        \(ReportPage.paragraphs(text))
        \(tables.map(\.html).joined(separator: "\n"))
        <div class="charts">
        \(charts.map(\.html).joined(separator: "\n"))
        </div>
        </section>
        """
    }
}

extension ReportPage.Table {
    fileprivate var html: String {
        let head = head.map { "<th scope=\"col\">\($0.escapedForMarkup)</th>" }
        let body = rows.map { row in
            "<tr>" + row.prefix(1).map { "<th scope=\"row\">\($0.escapedForMarkup)</th>" }.joined()
                + row.dropFirst().map { "<td>\($0.escapedForMarkup)</td>" }.joined() + "</tr>"
        }
        return """
            <div class="table" tabindex="0"><table>
            <thead><tr>\(head.joined())</tr></thead>
            <tbody>
            \(body.joined(separator: "\n"))
            </tbody>
            </table></div>
            """
    }
}

extension ReportPage.Chart {
    fileprivate var html: String {
        let drawing = ChartDrawing(self)
        let legend = series.enumerated().map { index, series in
            "<span><svg class=\"chart\" width=\"22\" height=\"10\" aria-hidden=\"true\">"
                + "\(ChartDrawing.key(series.style, index))</svg>\(series.name.escapedForMarkup)</span>"
        }
        return """
            <figure>
            <figcaption><b>\(title.escapedForMarkup)</b> <span class="unit">\(unit.escapedForMarkup)</span>
            <div class="legend">\(legend.joined())</div></figcaption>
            <svg class="chart plot" height="\(drawing.height)" role="img" \
            aria-label="\(drawing.description.escapedForMarkup)">
            \(drawing.content)
            </svg>
            </figure>
            """
    }
}

extension String {
    /// The text for HTML and XML, in content and in attributes, without characters that XML forbids.
    var escapedForMarkup: String {
        var result = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\u{0}"..."\u{8}", "\u{B}", "\u{C}", "\u{E}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": break
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
