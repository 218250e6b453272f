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
            <a class="skip" href="#circuits">Skip to the circuits</a>
            <header>
              <div class="title"><h1 id="name">Resilience</h1><span id="status" class="pill">…</span></div>
              <p id="live" class="live" role="status"><span class="dot" aria-hidden="true"></span><span id="live-text">Connecting…</span></p>
            </header>
            <p id="announcer" class="hidden" aria-live="polite"></p>
            <noscript><p class="note">This page needs JavaScript.</p></noscript>
            <main>
              <dl class="tiles" aria-label="Totals">
                <div><dt>Components</dt><dd id="t-components">–</dd></div>
                <div><dt>Open circuits</dt><dd id="t-open">–</dd></div>
                <div><dt>Half-open circuits</dt><dd id="t-half">–</dd></div>
                <div><dt>Degraded</dt><dd id="t-degraded">–</dd></div>
                <div><dt>Down</dt><dd id="t-down">–</dd></div>
              </dl>
              <form id="filter" class="filter" role="search" hidden>
                <label>Find <input id="find" type="search" autocomplete="off" spellcheck="false"></label>
                <label class="check"><input id="attention" type="checkbox"> Only what needs attention</label>
              </form>
              <section id="circuits" aria-labelledby="h-circuits" tabindex="-1">
                <h2 id="h-circuits">Circuits</h2>
                <table role="table" aria-labelledby="h-circuits">
                  <thead role="rowgroup"><tr role="row">
                    <th role="columnheader" scope="col">Circuit</th>
                    <th role="columnheader" scope="col">State</th>
                    <th role="columnheader" scope="col">Failures</th>
                    <th role="columnheader" scope="col">Next probe</th>
                    <th role="columnheader" scope="col" class="wide" id="h-history">Timeline</th>
                    <th role="columnheader" scope="col" id="h-hand" hidden>By hand</th>
                  </tr></thead>
                  <tbody role="rowgroup" id="circuit-rows"></tbody>
                </table>
                <p class="note" id="no-circuits" hidden>No circuits.</p>
                <ul class="legend" aria-label="Colours of the timeline">
                  <li><i class="key closed" aria-hidden="true"></i>closed</li>
                  <li><i class="key halfOpen" aria-hidden="true"></i>half-open</li>
                  <li><i class="key open" aria-hidden="true"></i>open</li>
                  <li><i class="key unknown" aria-hidden="true"></i>not recorded</li>
                </ul>
              </section>
              <section id="limits" aria-labelledby="h-limits" hidden>
                <h2 id="h-limits">Throttles and bulkheads</h2>
                <ul class="cards" id="limit-cards"></ul>
              </section>
              <section id="queues" aria-labelledby="h-queues" hidden>
                <h2 id="h-queues">Queues</h2>
                <ul class="cards" id="queue-cards"></ul>
              </section>
              <section aria-labelledby="h-log">
                <h2 id="h-log">Latest changes</h2>
                <ol class="log" id="log"></ol>
                <p class="note" id="no-log">No circuit has changed its state.</p>
              </section>
            </main>
            <footer><p id="foot"></p></footer>
            <dialog id="confirm" aria-labelledby="confirm-text">
              <p id="confirm-text"></p>
              <div class="buttons"><button id="confirm-no" type="button">Cancel</button><button id="confirm-yes" type="button" class="danger"></button></div>
            </dialog>
            """
    }
#endif
