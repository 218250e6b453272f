#if Dashboard
    extension DashboardPage {
        /// Text from the service gets into the page by `textContent` and by attributes that are no code, and in no other
        /// way. A test holds the script to this.
        static let script = #"""
            (() => {
            'use strict';
            const base = location.pathname.replace(/\/+$/, '');
            const token = document.querySelector('meta[name=resilience-token]').content;
            const $ = (id) => document.getElementById(id);
            const words = {
              closed: 'closed', open: 'open', halfOpen: 'half-open', isolated: 'isolated', disabled: 'disabled',
              observing: 'observing', up: 'Up', degraded: 'Degraded', down: 'Down',
            };
            const rows = new Map();      // id → row, as the service sends it
            const views = new Map();     // id → what shows it
            let order = [], summary = null, history = 600000, recordedSince = 0, allowsActions = false, offset = null;
            let source = null, lastMessage = 0;

            // Elements, and text that changes only where it differs, so that readers of the page are not told again.
            function element(tag, className, text) {
              const made = document.createElement(tag);
              if (className) made.className = className;
              if (text !== undefined) made.textContent = text;
              return made;
            }
            function say(target, text) { if (target.textContent !== text) target.textContent = text; }
            function look(target, className) { if (target.className !== className) target.className = className; }
            function attribute(target, name, value) { if (target.getAttribute(name) !== value) target.setAttribute(name, value); }

            function now() { return offset === null ? 0 : performance.now() - offset; }
            function length(milliseconds) {
              const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
              if (seconds < 100) return seconds + ' s';
              if (seconds < 6000) return Math.floor(seconds / 60) + ' min' + (seconds % 60 && seconds < 600 ? ' ' + seconds % 60 + ' s' : '');
              if (seconds < 172800) return Math.floor(seconds / 3600) + ' h ' + Math.floor(seconds % 3600 / 60) + ' min';
              return Math.floor(seconds / 86400) + ' days';
            }
            function ago(time) {
              const past = now() - time;
              return past < 2000 ? 'now' : length(Math.floor(past / 1000) * 1000) + ' ago';
            }
            function count(number) { return number.toLocaleString('en-US').replace(/,/g, '\u2009'); }
            function bytes(number) {
              const units = ['B', 'kB', 'MB', 'GB', 'TB'];
              let unit = 0;
              while (number >= 1000 && unit < units.length - 1) { number /= 1000; unit += 1; }
              return (unit && number < 10 ? number.toFixed(1) : Math.round(number)) + ' ' + units[unit];
            }
            function fullName(row) { return (row.group ? row.group + ' ' : '') + row.name + (row.policy ? ' ' + row.policy : ''); }
            function shownState(circuit) { return circuit.mode === 'automatic' ? circuit.state : circuit.mode; }
            function needsAttention(row) {
              return row.status !== 'up' || !!row.problem || (row.circuit && row.circuit.mode !== 'automatic');
            }
            function announce(text) { $('announcer').textContent = text; }

            function title(row) {
              const parts = [row.group, row.policy].filter(Boolean).join(' · ');
              return { name: row.name, sub: parts };
            }
            function named(tag, row) {
              const box = element(tag);
              const shown = title(row);
              box.append(element('span', '', shown.name));
              if (row.isRequired) box.append(element('span', 'required', 'required'));
              if (shown.sub) box.append(element('span', 'sub', shown.sub));
              return box;
            }

            // A circuit: a row of the table.
            function circuitView(row) {
              const line = element('tr');
              line.setAttribute('role', 'row');
              const cell = (className, label) => {
                const made = element('td', className);
                made.setAttribute('role', 'cell');
                if (label) made.dataset.label = label;
                line.append(made);
                return made;
              };
              const head = named('th', row);
              head.scope = 'row';
              head.setAttribute('role', 'rowheader');
              line.append(head);
              const badge = element('span', 'badge');
              const state = cell('state');
              state.append(badge);
              const failures = cell('number', 'Failures');
              const probe = cell('number', 'Next probe');
              const track = element('div', 'track');
              track.setAttribute('role', 'img');
              cell('timeline').append(track);
              const hand = element('div', 'hand');
              if (allowsActions) cell('actions').append(hand);
              let drawn = 0, shown = '', buttons = '';

              function draw(circuit) {
                const end = now(), begin = end - history;
                const place = (time) => Math.max(0, Math.min(100, (time - begin) / history * 100));
                const parts = [];
                if (recordedSince > begin) parts.push(['unknown', begin, recordedSince]);
                let from = Math.max(begin, recordedSince), current = circuit.before, outages = 0;
                for (const mark of circuit.marks) {
                  if (mark.at > from) parts.push([current, from, mark.at]);
                  if (mark.state === 'open' && current !== 'open') outages += 1;
                  from = Math.max(from, mark.at);
                  current = mark.state;
                }
                parts.push([current, from, end]);
                track.replaceChildren(...parts.map(([name, start, stop]) => {
                  const part = element('i', name);
                  part.style.left = place(start) + '%';
                  part.style.width = Math.max(0, place(stop) - place(start)) + '%';
                  return part;
                }));
                attribute(track, 'aria-label', 'Opened ' + (outages === 1 ? 'once' : outages + ' times') + ' in the last ' + length(history));
                drawn = performance.now();
              }
              function offer(row) {
                const choices = row.circuit.mode === 'isolated' ? ['automatic']
                  : row.circuit.mode !== 'automatic' ? [] : row.circuit.state === 'closed' ? ['open', 'isolate'] : ['close', 'isolate'];
                if (buttons === choices.join()) return;
                const hadFocus = hand.contains(document.activeElement);
                buttons = choices.join();
                hand.replaceChildren(...choices.map((choice) => {
                  const button = element('button', '', { open: 'Open', close: 'Close', isolate: 'Isolate', automatic: 'Release' }[choice]);
                  button.type = 'button';
                  button.setAttribute('aria-label', button.textContent + ' ' + fullName(row));
                  button.addEventListener('click', () => ask(row, choice));
                  return button;
                }));
                if (hadFocus && hand.firstChild) hand.firstChild.focus();
              }
              return {
                node: line,
                update(row, isNew) {
                  const circuit = row.circuit, state = shownState(circuit);
                  look(badge, 'badge ' + state);
                  say(badge, words[state] || state);
                  if (!isNew && shown && shown !== state) {
                    line.classList.remove('changed');
                    void line.offsetWidth;
                    line.classList.add('changed');
                    announce(fullName(row) + ': circuit ' + (words[state] || state));
                  }
                  shown = state;
                  attribute(line, 'data-state', state);
                  say(failures, count(circuit.failures) + (circuit.limit ? ' of ' + count(circuit.limit) : '')
                    + (circuit.calls !== undefined ? ' / ' + count(circuit.calls) + ' calls' : ''));
                  if (allowsActions) offer(row);
                  draw(circuit);
                  this.tick(row);
                },
                tick(row) {
                  const circuit = row.circuit;
                  let text = '–';
                  if (circuit.mode === 'isolated') text = 'by hand';
                  else if (circuit.probeAt !== undefined) text = circuit.probeAt > now() ? 'in ' + length(circuit.probeAt - now()) : 'now';
                  else if (circuit.state === 'halfOpen') text = 'probing';
                  say(probe, text);
                  const age = performance.now() - drawn;
                  if (age > (circuit.marks.length ? 1000 : 10000)) draw(circuit);
                },
              };
            }

            // A throttle, a bulkhead or a policy of the service's own: a card with a gauge.
            function limitView(row) {
              const card = element('li');
              const head = element('div', 'head');
              head.append(named('strong', row));
              const badge = element('span', 'badge');
              head.append(badge);
              const gauge = element('div', 'gauge'), bar = element('i');
              gauge.setAttribute('role', 'meter');
              gauge.setAttribute('aria-label', 'Permits in use of ' + fullName(row));
              gauge.append(bar);
              const line = element('p', 'note');
              card.append(head, gauge, line);
              return {
                node: card,
                update(row) {
                  const { bulkhead, throttle, adaptiveThrottle, chaos, hedge, endpointPool } = row;
                  gauge.hidden = !bulkhead;
                  if (bulkhead) {
                    const share = Math.min(1, bulkhead.inUse / Math.max(1, bulkhead.limit));
                    const isFull = bulkhead.inUse >= bulkhead.limit;
                    const rejects = isFull && bulkhead.waiting >= bulkhead.waitLimit;
                    bar.style.width = share * 100 + '%';
                    look(gauge, 'gauge' + (rejects ? ' full' : share >= 0.8 ? ' warn' : ''));
                    attribute(gauge, 'aria-valuenow', String(bulkhead.inUse));
                    attribute(gauge, 'aria-valuemin', '0');
                    attribute(gauge, 'aria-valuemax', String(bulkhead.limit));
                    const milliseconds = us => (us / 1000).toPrecision(us < 100000 ? 2 : 3) + ' ms';
                    say(line, count(bulkhead.inUse) + ' of ' + count(bulkhead.limit) + ' permits in use'
                      + (bulkhead.waitLimit ? ', ' + count(bulkhead.waiting) + ' of ' + count(bulkhead.waitLimit) + ' waiting' : '')
                      + (bulkhead.baseline ? '; calls take ' + milliseconds(bulkhead.latency) + ', without a queue ' + milliseconds(bulkhead.baseline) : ''));
                    look(badge, 'badge ' + (rejects ? 'down' : isFull ? 'degraded' : 'up'));
                    say(badge, bulkhead.isShedding ? 'overloaded, shedding' : rejects ? 'full, rejecting' : isFull ? 'full' : 'free');
                  } else if (adaptiveThrottle) {
                    const { calls, accepted, rejectedPercent } = adaptiveThrottle;
                    look(badge, 'badge ' + (rejectedPercent > 50 ? 'down' : rejectedPercent ? 'degraded' : 'up'));
                    say(badge, rejectedPercent ? 'rejecting ' + rejectedPercent + ' %' : 'rejecting none');
                    say(line, count(accepted) + ' of ' + count(calls) + ' calls accepted');
                  } else if (chaos) {
                    say(line, count(chaos.touched) + ' calls touched' + (chaos.delayed ? ', ' + count(chaos.delayed) + ' delayed now' : ''));
                  } else if (hedge) {
                    look(badge, 'badge ' + (hedge.left ? 'up' : 'degraded'));
                    say(badge, hedge.left ? count(hedge.left) + ' hedges left' : 'no hedges left');
                    say(line, (hedge.delay === undefined ? 'no delay' : 'after ' + count(hedge.delay) + ' ms')
                      + (hedge.samples ? ', of ' + count(hedge.samples) + ' calls' : ''));
                  } else if (endpointPool) {
                    const { ejected, isPanicking } = endpointPool;
                    look(badge, 'badge ' + (isPanicking || !row.isAllowed ? 'down' : ejected ? 'degraded' : 'up'));
                    say(badge, !row.isAllowed ? 'no endpoint' : isPanicking ? 'too few left, using all' : ejected ? count(ejected) + ' ejected' : 'none ejected');
                    say(line, count(endpointPool.count) + ' endpoints, ' + count(endpointPool.inFlight) + ' calls in flight');
                  } else if (!throttle) {
                    look(badge, 'badge ' + (row.isAllowed ? 'up' : 'degraded'));
                    say(badge, row.isAllowed ? 'allows calls' : 'allows no call');
                    say(line, row.kind);
                  }
                  this.tick(row);
                },
                tick(row) {
                  const chaos = row.chaos;
                  if (chaos) {
                    const isOn = chaos.isOn && chaos.endsAt > now();
                    look(badge, 'badge ' + (isOn ? 'degraded' : 'up'));
                    say(badge, isOn ? 'on for ' + length(chaos.endsAt - now()) : 'off');
                  }
                  const throttle = row.throttle;
                  if (!throttle) return;
                  const isHeld = throttle.heldUntil !== undefined && throttle.heldUntil > now();
                  look(badge, 'badge ' + (isHeld || throttle.isProbing ? 'degraded' : 'up'));
                  say(badge, throttle.isProbing ? 'probing' : isHeld ? 'held for ' + length(throttle.heldUntil - now()) : 'flowing');
                  say(line, (throttle.available === undefined ? 'no limit' : count(throttle.available) + ' available')
                    + ', ' + count(throttle.waiting) + ' waiting');
                },
              };
            }

            // A queue: a card with its figures.
            function queueView(row) {
              const card = element('li');
              const head = element('div', 'head');
              head.append(named('strong', row));
              const badge = element('span', 'badge');
              head.append(badge);
              const problem = element('p', 'problem');
              const facts = element('dl', 'facts');
              const fact = (label) => {
                const box = element('div'), value = element('dd');
                box.append(element('dt', '', label), value);
                facts.append(box);
                return value;
              };
              const depth = fact('Pending'), flight = fact('In flight'), dead = fact('Dead');
              const oldest = fact('Oldest'), rate = fact('Pace'), left = fact('Time left');
              card.append(head, problem, facts);
              return {
                node: card,
                update(row) {
                  problem.hidden = !row.problem;
                  say(problem, row.problem || '');
                  facts.hidden = !row.queue;
                  if (row.queue) {
                    const queue = row.queue;
                    say(depth, count(queue.pending) + (queue.bytes ? ' · ' + bytes(queue.bytes) : ''));
                    say(flight, count(queue.inFlight));
                    say(dead, count(queue.dead));
                    say(rate, queue.rate === undefined ? '–' : queue.rate + ' / s');
                    say(left, queue.secondsLeft === undefined || !queue.pending ? '–' : length(queue.secondsLeft * 1000));
                  }
                  this.tick(row);
                },
                tick(row) {
                  const queue = row.queue;
                  if (!queue) { look(badge, 'badge down'); say(badge, 'no answer'); return; }
                  const isPaused = queue.pausedUntil !== undefined && queue.pausedUntil > now();
                  look(badge, 'badge ' + (isPaused ? 'degraded' : 'up'));
                  say(badge, isPaused ? 'paused for ' + length(queue.pausedUntil - now()) : queue.isFlushing ? 'sending' : 'idle');
                  say(oldest, queue.oldestSince === undefined ? '–' : length(now() - queue.oldestSince));
                },
              };
            }

            // What the service sends.
            function put(row) {
              const known = views.get(row.id), isNew = !known;
              const view = known || (row.circuit ? circuitView : row.kind === 'queue' ? queueView : limitView)(row);
              rows.set(row.id, row);
              views.set(row.id, view);
              view.update(row, isNew);
            }
            function drop(id) {
              const view = views.get(id);
              if (view) view.node.remove();
              views.delete(id);
              rows.delete(id);
            }
            function arrange() {
              const find = $('find').value.trim().toLowerCase(), only = $('attention').checked;
              const places = { circuit: $('circuit-rows'), limit: $('limit-cards'), queue: $('queue-cards') };
              const shown = { circuit: [], limit: [], queue: [] }, all = { circuit: 0, limit: 0, queue: 0 };
              for (const id of order) {
                const row = rows.get(id);
                if (!row) continue;
                const kind = row.circuit ? 'circuit' : row.kind === 'queue' ? 'queue' : 'limit';
                all[kind] += 1;
                if (find && !fullName(row).toLowerCase().includes(find)) continue;
                if (only && !needsAttention(row)) continue;
                shown[kind].push(views.get(id).node);
              }
              for (const kind of Object.keys(places)) {
                const present = places[kind].children, wanted = shown[kind];
                if (present.length !== wanted.length || wanted.some((node, index) => present[index] !== node)) {
                  const focused = document.activeElement;
                  places[kind].replaceChildren(...wanted);
                  if (focused && focused !== document.activeElement && focused.isConnected) focused.focus();
                }
              }
              $('filter').hidden = rows.size <= 8;
              $('no-circuits').hidden = shown.circuit.length > 0;
              $('no-circuits').textContent = all.circuit ? 'No circuit is like this.' : 'No circuits.';
              $('circuits').querySelector('table').hidden = shown.circuit.length === 0;
              $('limits').hidden = all.limit === 0;
              $('queues').hidden = all.queue === 0;
            }
            function total(id, number, className) {
              say($(id), count(number));
              look($(id), number > 0 && className ? className : '');
            }
            function sum() {
              const totals = summary.totals;
              say($('name'), summary.name);
              document.title = (totals.openCircuits ? '(' + totals.openCircuits + ' open) ' : '') + summary.name + ' – Resilience';
              look($('status'), 'pill ' + summary.status);
              say($('status'), words[summary.status]);
              total('t-components', totals.components);
              total('t-open', totals.openCircuits, 'alert');
              total('t-half', totals.halfOpenCircuits, 'warn');
              total('t-degraded', totals.degraded, 'warn');
              total('t-down', totals.down, 'alert');
              say($('foot'), (totals.omitted ? count(totals.omitted) + ' components that are well are not shown. ' : '')
                + 'Changes are recorded since the service started, ' + ago(recordedSince) + '.');
            }
            let logged = '';
            function log() {
              const marks = [];
              for (const row of rows.values()) if (row.circuit) for (const mark of row.circuit.marks) marks.push([mark, row]);
              marks.sort((one, other) => other[0].at - one[0].at);
              const latest = marks.slice(0, 12);
              const key = latest.map(([mark, row]) => mark.at + mark.state + row.id).join();
              $('no-log').hidden = latest.length > 0;
              if (key !== logged) {
                logged = key;
                $('log').replaceChildren(...latest.map(([mark, row]) => {
                  const line = element('li'), time = element('time');
                  time.dataset.at = mark.at;
                  line.append(time, element('span', 'badge ' + mark.state, words[mark.state]), element('span', '', fullName(row)));
                  return line;
                }));
              }
              for (const time of $('log').querySelectorAll('time')) say(time, ago(Number(time.dataset.at)));
            }
            function heard(data, isFirst) {
              lastMessage = performance.now();
              const measured = performance.now() - data.now;
              offset = isFirst || offset === null ? measured : Math.min(offset, measured);
              look($('live'), 'live on');
              say($('live-text'), 'Live');
            }
            function snapshot(data) {
              heard(data, true);
              ({ summary, history, recordedSince, allowsActions } = data);
              $('h-hand').hidden = !allowsActions;
              say($('h-history'), 'Last ' + length(history));
              for (const id of [...rows.keys()]) drop(id);
              order = data.rows.map((row) => row.id);
              data.rows.forEach(put);
              sum();
              arrange();
              log();
            }
            function change(data) {
              heard(data, false);
              if (data.summary) summary = data.summary;
              (data.gone || []).forEach(drop);
              (data.rows || []).forEach(put);
              if (data.order) order = data.order;
              sum();
              arrange();
              log();
            }

            function connect() {
              if (source) source.close();
              source = new EventSource(base + '/events');
              lastMessage = performance.now();
              const current = source;
              source.addEventListener('snapshot', (event) => snapshot(JSON.parse(event.data)));
              source.addEventListener('change', (event) => change(JSON.parse(event.data)));
              source.addEventListener('beat', (event) => heard(JSON.parse(event.data), false));
              source.addEventListener('error', () => {
                lost();
                if (current.readyState === EventSource.CLOSED) setTimeout(() => { if (source === current) connect(); }, 3000);
              });
            }
            function lost() {
              look($('live'), 'live off');
              say($('live-text'), 'No connection. What is shown may be old. Trying again…');
            }

            // By hand.
            let asked = null;
            function ask(row, choice) {
              const name = fullName(row);
              asked = { row, choice };
              $('confirm-text').textContent = {
                open: 'Open the circuit ' + name + '? Its calls are rejected until the break is over.',
                close: 'Close the circuit ' + name + '? Its calls get through again.',
                isolate: 'Isolate ' + name + '? All its calls are rejected until you release it.',
                automatic: 'Release ' + name + '? The circuit decides again.',
              }[choice];
              $('confirm-yes').textContent = { open: 'Open', close: 'Close', isolate: 'Isolate', automatic: 'Release' }[choice];
              $('confirm').showModal();
            }
            $('confirm-no').addEventListener('click', () => $('confirm').close());
            $('confirm-yes').addEventListener('click', async () => {
              $('confirm').close();
              const { row, choice } = asked;
              try {
                const answer = await fetch(base + '/actions', {
                  method: 'POST',
                  headers: { 'Content-Type': 'application/json', 'X-Resilience-Token': token },
                  body: JSON.stringify({ component: row.component, place: row.place, action: choice }),
                });
                if (!answer.ok) announce('Not done: ' + await answer.text());
              } catch (error) {
                announce('Not done: the service can not be reached.');
              }
            });
            $('filter').addEventListener('submit', (event) => event.preventDefault());
            $('find').addEventListener('input', arrange);
            $('attention').addEventListener('change', arrange);

            setInterval(() => {
              if (performance.now() - lastMessage > 10000) { lost(); connect(); }
              if (offset === null) return;
              for (const [id, view] of views) view.tick(rows.get(id));
              log();
            }, 250);
            connect();
            })();
            """#
    }
#endif
