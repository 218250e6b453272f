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
            h2 { font-size: 1rem; font-weight: 650; }
            header { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: center; justify-content: space-between; }
            .title { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: center; min-width: 0; }
            .hidden, .skip:not(:focus) {
              position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%);
              white-space: nowrap;
            }
            .skip { position: absolute; top: 0.5rem; left: 0.5rem; padding: 0.5rem 0.75rem; background: var(--card); color: var(--accent); z-index: 2; }
            .note { color: var(--soft); padding: 0.6rem 0.9rem; }
            .problem { color: var(--bad); overflow-wrap: anywhere; }
            header + .problem { margin-top: 0.75rem; font-weight: 600; }
            :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
            #parts:focus { outline: none; }

            .badge {
              display: inline-flex; align-items: center; gap: 0.45em; padding: 0.15em 0.7em; border-radius: 1em; font-size: 0.8125rem;
              font-weight: 600; background: var(--track); color: var(--soft); justify-self: start; max-width: 100%;
            }
            h1 + .badge { font-size: 1rem; }
            .badge::before { content: ""; flex: none; width: 0.65em; height: 0.65em; background: currentColor; border-radius: 50%; }
            .badge.up { background: var(--good-back); color: var(--good); }
            .badge.busy, .badge.degraded { background: var(--warn-back); color: var(--warn); }
            .badge.down { background: var(--bad-back); color: var(--bad); }
            .badge.byHand { background: var(--hand-back); color: var(--hand); }
            .badge.down::before { border-radius: 1px; }
            .badge.busy::before, .badge.degraded::before { background: linear-gradient(90deg, currentColor 50%, transparent 50%); box-shadow: 0 0 0 1px currentColor; }
            .badge.byHand::before { border-radius: 0; width: 0.5em; background: none; border: solid currentColor; border-width: 0 2px; }
            .live { display: flex; align-items: center; gap: 0.5rem; color: var(--soft); font-size: 0.875rem; }
            .live .dot { width: 0.6rem; height: 0.6rem; border-radius: 50%; background: var(--warn-bar); flex: none; }
            .live.on .dot { background: var(--good-bar); }
            .live.off { color: var(--bad); }
            .live.off .dot { background: var(--bad-bar); border-radius: 1px; }

            .tiles { display: grid; grid-template-columns: repeat(5, 1fr); margin-top: 1rem; }
            .tiles, .part { background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem; }
            .tiles > div { padding: 0.5rem 0.9rem; min-width: 0; border-left: 1px solid var(--line); }
            .tiles > div:first-child { border-left: 0; }
            .tiles dt { color: var(--soft); font-size: 0.8125rem; }
            .tiles dd { font-size: 1.25rem; font-weight: 650; line-height: 1.25; }
            .alert { color: var(--bad); }
            .warn { color: var(--warn); }
            .filter { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: center; margin-top: 1rem; }
            input[type=search] {
              font: inherit; margin-left: 0.4rem; padding: 0.3rem 0.6rem; border: 1px solid var(--line); border-radius: 0.375rem;
              background: var(--card); color: inherit; width: 15rem; max-width: 60vw;
            }
            .check { display: inline-flex; gap: 0.4rem; align-items: center; }
            input[type=checkbox] { width: 1.05rem; height: 1.05rem; accent-color: var(--accent); }

            .part { margin-top: 1rem; overflow: hidden; border-left: 4px solid var(--line); }
            .part.degraded { border-left-color: var(--warn-bar); }
            .part.down { border-left-color: var(--bad-bar); }
            .head, .row {
              display: grid; grid-template-columns: 12rem 10rem minmax(0, 1fr) 26rem; gap: 0.25rem 1rem; align-items: center;
              padding: 0.45rem 0.9rem;
            }
            .by-hand .part > .head, .by-hand .row { grid-template-columns: 12rem 10rem minmax(0, 1fr) 19rem 9rem; }
            .head { padding-top: 0.65rem; padding-bottom: 0.65rem; }
            .row { border-top: 1px solid var(--line); font-size: 0.875rem; }
            .name { min-width: 0; overflow-wrap: anywhere; }
            .sub { display: block; font-size: 0.8125rem; font-weight: 400; color: var(--soft); }
            .required { font-size: 0.75rem; font-weight: 500; color: var(--soft); border: 1px solid var(--line); border-radius: 0.25rem; padding: 0 0.35rem; margin-left: 0.4rem; white-space: nowrap; }
            .readings { display: flex; flex-wrap: wrap; gap: 0 1.1rem; min-width: 0; }
            .readings > div { display: flex; gap: 0.35rem; white-space: nowrap; }
            .readings dt { color: var(--soft); }
            .readings dd { font-weight: 600; }
            .rates { gap: 0 0.9rem; }
            .rates > div { flex-direction: row-reverse; align-items: baseline; }
            .rates dt { font-size: 0.8125rem; }
            .rates dd { font-size: 1.125rem; font-weight: 650; }
            .rates .zero dd { color: var(--soft); font-weight: 400; }
            .rates .failures dd { color: var(--bad); }
            .rates .rejections dd { color: var(--warn); }
            .row > .problem { grid-column: 1 / -1; }
            .changed { animation: changed 1.6s ease-out; }
            @keyframes changed { from { background: color-mix(in srgb, var(--accent) 22%, transparent); } }
            @media (prefers-reduced-motion: reduce) { .changed { animation: none; } }

            .track { position: relative; height: 1.1rem; border-radius: 0.25rem; overflow: hidden; background: var(--track); }
            .head .track { height: 2.25rem; }
            .track i { position: absolute; top: 0; bottom: 0; min-width: 2px; }
            .track i.closed { top: 40%; }
            .track i.halfOpen { top: 15%; }
            .track svg { position: absolute; inset: 0; width: 100%; height: 100%; }
            .closed { background: var(--good-bar); fill: var(--good-bar); opacity: 0.55; }
            .halfOpen { background: var(--warn-bar); fill: var(--warn-bar); }
            .open { background: var(--bad-bar); fill: var(--bad-bar); }
            .unknown { min-width: 0 !important; background: repeating-linear-gradient(135deg, var(--track) 0 4px, var(--line) 4px 6px); }
            .gauge { height: 0.5rem; border-radius: 0.25rem; background: var(--track); overflow: hidden; }
            .gauge i { display: block; height: 100%; background: var(--good-bar); border-radius: inherit; }
            .gauge.busy i, .gauge.degraded i { background: var(--warn-bar); }
            .gauge.down i { background: var(--bad-bar); }
            .legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; margin-top: 0.7rem; font-size: 0.8125rem; color: var(--soft); }
            .legend span { display: flex; align-items: center; gap: 0.4rem; }
            .key { flex: none; width: 0.9rem; height: 0.9rem; border-radius: 0.2rem; }

            button {
              font: inherit; font-size: 0.8125rem; padding: 0.2rem 0.7rem; border-radius: 0.375rem; cursor: pointer;
              border: 1px solid var(--line); background: var(--card); color: var(--text);
            }
            button:hover { border-color: var(--accent); }
            button.danger { background: var(--bad-bar); border-color: var(--bad-bar); color: #fff; }
            .hand { display: flex; gap: 0.4rem; flex-wrap: wrap; grid-column: 5; }
            .hand:empty { display: none; }
            dialog { border: 1px solid var(--line); border-radius: 0.6rem; background: var(--card); color: var(--text); max-width: 26rem; padding: 1.25rem; overflow-wrap: anywhere; }
            dialog::backdrop { background: rgb(0 0 0 / 45%); }
            .buttons { display: flex; justify-content: flex-end; gap: 0.6rem; margin-top: 1.1rem; }
            .buttons button { font-size: 0.9375rem; padding: 0.4rem 1rem; }

            .log li { display: flex; gap: 0.9rem; align-items: center; padding: 0.3rem 0.9rem; border-top: 1px solid var(--line); min-width: 0; font-size: 0.875rem; }
            .log time { color: var(--soft); width: 6.5rem; flex: none; }
            .log span:last-child { overflow-wrap: anywhere; min-width: 0; }
            .log .badge { width: 6.4rem; flex: none; }
            footer { margin-top: 1rem; color: var(--soft); font-size: 0.8125rem; }

            @media (max-width: 56rem) {
              body { padding: 1rem 0.75rem 1.5rem; }
              .tiles { grid-template-columns: repeat(5, auto); }
              .tiles > div { padding: 0.4rem 0.5rem; }
              .tiles dt { font-size: 0.75rem; white-space: nowrap; }
              .wide { display: none; }
              .head, .row, .by-hand .part > .head, .by-hand .row { grid-template-columns: minmax(0, 1fr) auto; gap: 0.35rem 0.75rem; padding: 0.6rem 0.75rem; }
              .head > .badge, .row > .badge { justify-self: end; }
              .readings, .track, .gauge, .hand { grid-column: 1 / -1; }
              .row:has(button) > .readings { grid-column: 1; }
              .row > .hand { grid-column: 2; grid-row: 2; justify-content: end; }
              .row .sub { display: inline; margin-left: 0.5rem; }
              .track { height: 0.9rem; }
              .log li { padding: 0.4rem 0.75rem; gap: 0.6rem; }
              .log time { width: 4.6rem; }
              button { padding: 0.35rem 0.7rem; }
            }
            """
    }
#endif
