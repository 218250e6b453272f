#if Dashboard
    extension DashboardPage {
        static let style = """
            :root {
              color-scheme: light dark;
              --back: #f4f6f8; --card: #ffffff; --line: #d9dfe5; --text: #16202a; --soft: #55636f;
              --good: #177245; --good-back: #dff3e7; --good-bar: #5bb98a;
              --warn: #8a5a00; --warn-back: #fdf0d0; --warn-bar: #e5a21b;
              --bad: #b3201f; --bad-back: #fde3e1; --bad-bar: #d6403c;
              --hand: #5b3fa8; --hand-back: #ebe5fa; --accent: #1b62c4; --track: #e6ebef;
            }
            @media (prefers-color-scheme: dark) {
              :root {
                --back: #0f151b; --card: #18212a; --line: #2b3742; --text: #e7edf2; --soft: #9aa9b6;
                --good: #6fd3a0; --good-back: #12352a; --good-bar: #2f8f63;
                --warn: #f2c14e; --warn-back: #3a2e0c; --warn-bar: #d39a1c;
                --bad: #ff938c; --bad-back: #46191b; --bad-bar: #e2544f;
                --hand: #bfa9f5; --hand-back: #2e2350; --accent: #7fb2ff; --track: #232e38;
              }
            }
            * { box-sizing: border-box; }
            [hidden] { display: none !important; }
            body {
              margin: 0 auto; max-width: 78rem; padding: 1.25rem 1.5rem 2rem; background: var(--back); color: var(--text);
              font: 0.9375rem/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
              font-variant-numeric: tabular-nums;
            }
            h1, h2, p, dl, dd, ul, ol { margin: 0; padding: 0; }
            ul, ol { list-style: none; }
            h1 { font-size: 1.5rem; line-height: 1.2; overflow-wrap: anywhere; }
            h2 { font-size: 1rem; margin: 0 0 0.625rem; }
            header { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: center; justify-content: space-between; }
            .title { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: center; min-width: 0; }
            section { margin-top: 1.75rem; }
            section:focus { outline: none; }
            .hidden, .skip:not(:focus) {
              position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%);
              white-space: nowrap;
            }
            .skip { position: absolute; top: 0.5rem; left: 0.5rem; padding: 0.5rem 0.75rem; background: var(--card); color: var(--accent); z-index: 2; }
            .note { color: var(--soft); }
            :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }

            .pill, .badge {
              display: inline-flex; align-items: center; gap: 0.45em; padding: 0.15em 0.7em; border-radius: 1em;
              font-weight: 600; white-space: nowrap; background: var(--track); color: var(--soft);
            }
            .badge { font-size: 0.8125rem; }
            .badge::before { content: ""; width: 0.65em; height: 0.65em; background: currentColor; border-radius: 50%; }
            .up, .closed { background: var(--good-back); color: var(--good); }
            .degraded, .halfOpen { background: var(--warn-back); color: var(--warn); }
            .down, .open { background: var(--bad-back); color: var(--bad); }
            .isolated, .disabled, .observing { background: var(--hand-back); color: var(--hand); }
            .badge.open::before { border-radius: 1px; }
            .badge.halfOpen::before { background: linear-gradient(90deg, currentColor 50%, transparent 50%); box-shadow: 0 0 0 1px currentColor; }
            .badge.isolated::before, .badge.disabled::before, .badge.observing::before { border-radius: 0; width: 0.5em; background: none; border: solid currentColor; border-width: 0 2px; }
            .live { display: flex; align-items: center; gap: 0.5rem; color: var(--soft); font-size: 0.875rem; }
            .live .dot { width: 0.6rem; height: 0.6rem; border-radius: 50%; background: var(--warn-bar); }
            .live.on .dot { background: var(--good-bar); }
            .live.off { color: var(--bad); }
            .live.off .dot { background: var(--bad-bar); border-radius: 1px; }

            .tiles { display: grid; grid-template-columns: repeat(5, 1fr); gap: 0.75rem; margin-top: 1.25rem; }
            .tiles > div, .cards > li, table, .log {
              background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem;
            }
            .tiles > div { padding: 0.7rem 0.9rem; }
            .tiles dt { color: var(--soft); font-size: 0.8125rem; }
            .tiles dd { font-size: 1.5rem; font-weight: 650; line-height: 1.25; }
            .tiles dd.alert { color: var(--bad); }
            .tiles dd.warn { color: var(--warn); }
            .filter { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: center; margin-top: 1.25rem; }
            input[type=search] {
              font: inherit; margin-left: 0.4rem; padding: 0.3rem 0.6rem; border: 1px solid var(--line); border-radius: 0.375rem;
              background: var(--card); color: inherit; width: 15rem; max-width: 60vw;
            }
            .check { display: inline-flex; gap: 0.4rem; align-items: center; }
            input[type=checkbox] { width: 1.05rem; height: 1.05rem; accent-color: var(--accent); }

            table { width: 100%; border-collapse: separate; border-spacing: 0; overflow: hidden; }
            th { text-align: left; font-size: 0.8125rem; font-weight: 500; color: var(--soft); white-space: nowrap; }
            th, td { padding: 0.6rem 0.9rem; vertical-align: middle; }
            tbody th { font-size: inherit; font-weight: 600; color: inherit; white-space: normal; overflow-wrap: anywhere; min-width: 9rem; }
            tbody tr > * { border-top: 1px solid var(--line); }
            th.wide { width: 34%; }
            td.number { white-space: nowrap; }
            .sub { display: block; font-size: 0.8125rem; font-weight: 400; color: var(--soft); overflow-wrap: anywhere; }
            .required { font-size: 0.75rem; font-weight: 500; color: var(--soft); border: 1px solid var(--line); border-radius: 0.25rem; padding: 0 0.35rem; margin-left: 0.4rem; white-space: nowrap; }
            tr.changed > * { animation: changed 1.6s ease-out; }
            @keyframes changed { from { background: color-mix(in srgb, var(--accent) 22%, transparent); } }
            @media (prefers-reduced-motion: reduce) { tr.changed > * { animation: none; } }

            .track { position: relative; height: 1.25rem; border-radius: 0.25rem; overflow: hidden; background: var(--track); min-width: 9rem; }
            .track i { position: absolute; top: 0; bottom: 0; min-width: 2px; background: var(--good-bar); opacity: 0.55; }
            .track i.halfOpen, .key.halfOpen { background: var(--warn-bar); opacity: 1; }
            .track i.open, .key.open { background: var(--bad-bar); opacity: 1; }
            .track i.halfOpen { top: 15%; }
            .track i.closed { top: 40%; }
            .track i.unknown, .key.unknown { opacity: 1; background: repeating-linear-gradient(135deg, var(--track) 0 4px, var(--line) 4px 6px); }
            .legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; margin-top: 0.6rem; font-size: 0.8125rem; color: var(--soft); }
            .legend li { display: flex; align-items: center; gap: 0.4rem; }
            .key { width: 0.9rem; height: 0.9rem; border-radius: 0.2rem; border: 1px solid var(--line); }
            .key.closed { background: var(--good-bar); opacity: 0.7; }

            button {
              font: inherit; font-size: 0.8125rem; padding: 0.25rem 0.7rem; border-radius: 0.375rem; cursor: pointer;
              border: 1px solid var(--line); background: var(--card); color: var(--text);
            }
            button:hover { border-color: var(--accent); }
            button.danger { background: var(--bad-bar); border-color: var(--bad-bar); color: #fff; }
            .hand { display: flex; gap: 0.4rem; flex-wrap: wrap; }
            dialog { border: 1px solid var(--line); border-radius: 0.6rem; background: var(--card); color: var(--text); max-width: 26rem; padding: 1.25rem; overflow-wrap: anywhere; }
            dialog::backdrop { background: rgb(0 0 0 / 45%); }
            .buttons { display: flex; justify-content: flex-end; gap: 0.6rem; margin-top: 1.1rem; }
            .buttons button { font-size: 0.9375rem; padding: 0.4rem 1rem; }

            .cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: 0.75rem; }
            .cards > li { padding: 0.8rem 0.9rem; min-width: 0; }
            .head { display: flex; justify-content: space-between; gap: 0.75rem; align-items: flex-start; }
            .head strong { font-weight: 600; overflow-wrap: anywhere; min-width: 0; }
            .gauge { height: 0.6rem; border-radius: 0.3rem; background: var(--track); overflow: hidden; margin: 0.7rem 0 0.45rem; }
            .gauge i { display: block; height: 100%; background: var(--good-bar); border-radius: inherit; }
            .gauge.warn i { background: var(--warn-bar); }
            .gauge.full i { background: var(--bad-bar); }
            .facts { display: grid; grid-template-columns: repeat(3, 1fr); gap: 0.6rem 0.75rem; margin-top: 0.75rem; }
            .facts dt { font-size: 0.75rem; color: var(--soft); }
            .facts dd { font-weight: 600; }
            .problem { color: var(--bad); margin-top: 0.6rem; overflow-wrap: anywhere; }
            .log { padding: 0.25rem 0.9rem; }
            .log:empty { display: none; }
            .log li { display: flex; gap: 0.9rem; align-items: center; padding: 0.4rem 0; border-top: 1px solid var(--line); min-width: 0; }
            .log li:first-child { border-top: 0; }
            .log time { color: var(--soft); width: 6.5rem; flex: none; }
            .log span:last-child { overflow-wrap: anywhere; min-width: 0; }
            .log .badge { width: 6.4rem; flex: none; }
            footer { margin-top: 1.75rem; color: var(--soft); font-size: 0.8125rem; }

            @media (max-width: 46rem) {
              body { padding: 1rem 0.9rem 1.5rem; }
              .tiles { grid-template-columns: repeat(6, 1fr); gap: 0.5rem; }
              .tiles > div { grid-column: span 2; padding: 0.5rem 0.7rem; }
              .tiles > div:nth-child(n + 4) { grid-column: span 3; }
              .tiles dt { font-size: 0.75rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
              .tiles dd { font-size: 1.25rem; }
              table, tbody { display: block; }
              thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
              tbody tr { display: grid; grid-template-columns: 1fr auto; gap: 0.35rem 0.75rem; padding: 0.8rem 0.9rem; border-top: 1px solid var(--line); }
              tbody tr:first-child { border-top: 0; }
              tbody tr > * { border: 0; padding: 0; }
              tbody td:nth-of-type(1) { justify-self: end; }
              tbody tr > .timeline, tbody tr > .actions { grid-column: 1 / -1; }
              td.number { font-size: 0.8125rem; color: var(--soft); }
              td.number::before { content: attr(data-label) " "; }
              td.number:nth-of-type(3) { text-align: right; }
              .track { margin-top: 0.2rem; }
              .cards { grid-template-columns: 1fr; }
              .log time { width: 4.6rem; }
              button { padding: 0.4rem 0.9rem; }
            }
            """
    }
#endif
