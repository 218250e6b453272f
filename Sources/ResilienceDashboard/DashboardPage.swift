#if Dashboard
    /// The page: one document, with its style and its script in it, which loads nothing else.
    ///
    /// It contains no text from outside. All that it shows comes over the stream of events, and the script puts it into
    /// the page as text only.
    enum DashboardPage {
        /// - Parameters:
        ///   - nonce: Hexadecimal digits. Only a style or a script that has them is taken by the browser.
        ///   - token: Hexadecimal digits, which actions carry; empty if none are allowed.
        static func html(nonce: String, token: String) -> String {
            """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="resilience-token" content="\(token)">
            <title>Resilience</title>
            <link rel="icon" href="data:,">
            <style nonce="\(nonce)">
            \(style)
            </style>
            </head>
            <body>
            \(content)
            <script nonce="\(nonce)">
            \(script)
            </script>
            </body>
            </html>

            """
        }

        static let content = """
            <a class="skip" href="#parts">Skip to the pipelines</a>
            <header>
              <div class="title"><h1 id="name">Resilience</h1><span id="status" class="badge">…</span></div>
              <p id="live" class="live" role="status"><span class="dot" aria-hidden="true"></span><span id="live-text">Connecting…</span></p>
            </header>
            <p id="notice" class="problem" role="alert" hidden></p>
            <p id="announcer" class="hidden" aria-live="polite"></p>
            <noscript><p class="note">This page needs JavaScript.</p></noscript>
            <main id="main">
              <dl class="tiles" aria-label="Totals">
                <div><dt>Down</dt><dd id="t-down">–</dd></div>
                <div><dt>Degraded</dt><dd id="t-degraded">–</dd></div>
                <div><dt>Open<span class="wide"> circuits</span></dt><dd id="t-open">–</dd></div>
                <div><dt>Half-open<span class="wide"> circuits</span></dt><dd id="t-half">–</dd></div>
                <div><dt>All<span class="wide"> components</span></dt><dd id="t-components">–</dd></div>
              </dl>
              <form id="filter" class="filter" role="search" hidden>
                <label>Find <input id="find" type="search" autocomplete="off" spellcheck="false"></label>
                <label class="check"><input id="attention" type="checkbox"> Only what needs attention</label>
              </form>
              <div id="parts" tabindex="-1"></div>
              <p class="note" id="nothing" hidden>Nothing is like this.</p>
              <p class="legend"><span id="axis"></span>
                <span><i class="key closed" aria-hidden="true"></i>calls that succeed, a closed circuit</span>
                <span><i class="key halfOpen" aria-hidden="true"></i>rejected calls, a half-open circuit</span>
                <span><i class="key open" aria-hidden="true"></i>failed calls, an open circuit</span>
                <span><i class="key unknown" aria-hidden="true"></i>not recorded</span></p>
              <section class="part" aria-labelledby="h-log">
                <div class="head"><h2 id="h-log">Latest changes</h2></div>
                <ol class="log" id="log"></ol>
                <p class="note" id="no-log">No circuit has changed its state.</p>
              </section>
            </main>
            <footer><p id="foot"></p></footer>
            <svg id="chart" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true" hidden><path class="closed"/><path class="halfOpen"/><path class="open"/></svg>
            <dialog id="confirm" aria-labelledby="confirm-text">
              <p id="confirm-text"></p>
              <div class="buttons"><button id="confirm-no" type="button">Cancel</button><button id="confirm-yes" type="button" class="danger"></button></div>
            </dialog>
            """
    }
#endif
