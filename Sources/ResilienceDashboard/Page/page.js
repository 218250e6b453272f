(() => {
'use strict';
const base = location.pathname.replace(/\/+$/, '');
const token = document.querySelector('meta[name=resilience-token]').content;
const $ = (id) => document.getElementById(id);
const rows = new Map(), sections = new Map();     // id → { data, node, update, tick }
let order = [], summary = null, history = 600000, recordedSince = 0, offset = null, source = null, lastMessage = 0;

// Elements, and text that is written only where it has changed, so that screen readers do not repeat it.
function element(tag, className, ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content);
  return made;
}
function say(target, text) { if (target.textContent !== text) target.textContent = text; }
function look(target, className) { if (target.className !== className) target.className = className; }
function attribute(target, name, value) { if (target.getAttribute(name) !== value) target.setAttribute(name, value); }
function arrange(target, nodes) {
  const present = target.children;
  if (present.length === nodes.length && nodes.every((node, index) => present[index] === node)) return;
  const focused = document.activeElement;
  target.replaceChildren(...nodes);
  if (focused !== document.activeElement && focused.isConnected) focused.focus();
}
function announce(text) { $('announcer').textContent = text; }

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
function count(number) { return Math.round(number).toLocaleString('en-US').replace(/,/g, '\u2009'); }
function short(number) { return number === 0 ? '0' : number < 0.1 ? number.toFixed(2) : number < 10 ? number.toFixed(1) : count(number); }
function bytes(number) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (number >= 1000 && unit < units.length - 1) { number /= 1000; unit += 1; }
  return (unit && number < 10 ? number.toFixed(1) : Math.round(number)) + ' ' + units[unit];
}
const written = {
  count, bytes,
  seconds: (value) => value >= 10000 ? length(value) : short(value) + ' ms',
  perSecond: (value) => short(value) + '/s',
  share: (value) => Math.ceil(value * 100) + ' %',
  until: (value) => value > now() ? 'in ' + length(value - now()) : 'now',
  since: (value) => length(now() - value),
};

// A strip of the last minutes.
function strip(...content) {
  const track = element('div', 'track', ...content);
  track.setAttribute('role', 'img');
  return track;
}
// The place of a time on the strip, in hundredths.
function place(time) { return Math.max(0, Math.min(100, (time - now() + history) / history * 100)); }
function piece(name, from, to) {
  const made = element('i', name);
  made.style.left = place(from) + '%';
  made.style.width = place(to) - place(from) + '%';
  return made;
}

// A policy or a queue: a row.
function makeRow(first) {
  let data = first, shown = '', offered = '', drawn = -Infinity;
  const badge = element('span', 'badge'), readings = element('dl', 'readings'), hand = element('div', 'hand');
  const name = element('div', 'name', element('span', '', first.name));
  if (first.name !== first.kind) name.append(element('span', 'sub', first.kind));
  const problem = element('p', 'problem');
  const track = first.timeline ? strip() : element('div', 'gauge', element('i'));
  const node = element('li', 'row', name, badge, readings, track, hand, problem);

  function outages() {
    const { before, marks, since = recordedSince } = data.timeline, pieces = [piece('unknown', -Infinity, since)];
    let from = Math.max(now() - history, since), state = before, count = 0;
    for (const mark of marks) {
      if (mark.at > from) pieces.push(piece(state, from, mark.at));
      if (mark.state === 'open' && state !== 'open') count += 1;
      from = Math.max(from, mark.at);
      state = mark.state;
    }
    track.replaceChildren(...pieces, piece(state, from, now()));
    attribute(track, 'aria-label', 'Opened ' + (count === 1 ? 'once' : count + ' times') + ' in the last ' + length(history));
    drawn = performance.now();
  }
  function offer() {
    const choices = $('main').classList.contains('by-hand') ? data.facts.actions : [];
    const names = choices.map((choice) => choice.name).join();
    if (offered === names) return;
    offered = names;
    const hadFocus = hand.contains(document.activeElement);
    hand.replaceChildren(...choices.map((choice) => {
      const button = element('button', '', choice.title);
      button.type = 'button';
      button.setAttribute('aria-label', button.textContent + ' ' + data.fullName);
      button.addEventListener('click', () => ask(data, choice));
      return button;
    }));
    if (hadFocus && hand.firstChild) hand.firstChild.focus();
  }
  return {
    node,
    get data() { return data; },
    update(next) {
      data = next;
      const { facts } = data;
      if (data.timeline && shown && shown !== facts.state) {
        node.classList.remove('changed');
        void node.offsetWidth;
        node.classList.add('changed');
        announce(data.fullName + ': circuit ' + facts.state);
      }
      shown = facts.state;
      attribute(node, 'data-state', facts.state);
      look(badge, 'badge ' + facts.level);
      if (readings.children.length !== facts.readings.length) {
        readings.replaceChildren(...facts.readings.map(() => element('div', '', element('dt'), element('dd'))));
      }
      problem.hidden = !facts.problem;
      say(problem, facts.problem || '');
      if (!data.timeline) {
        const used = facts.readings.find((reading) => reading.limit);
        track.hidden = !used || !used.value;
        look(track, 'gauge ' + facts.level);
        track.firstChild.style.width = used ? Math.min(100, used.value / used.limit * 100) + '%' : '0';
      }
      offer();
      drawn = -Infinity;
      this.tick();
    },
    tick() {
      const { facts, timeline } = data;
      say(badge, facts.state + (facts.until > now() ? ' for ' + length(facts.until - now()) : ''));
      facts.readings.forEach((reading, index) => {
        const [label, value] = readings.children[index].children;
        say(label, reading.label);
        say(value, written[reading.unit](reading.value) + (reading.limit === undefined ? '' : ' of ' + count(reading.limit)));
      });
      if (timeline && performance.now() - drawn > (timeline.marks.length ? 1000 : 10000)) outages();
    },
  };
}

// A pipeline with its policies, a registry, or everything outside both.
function makeSection(first) {
  let data = first, drawn = 0;
  const badge = element('span', 'badge'), title = element('h2', 'name', first.name || 'Others');
  if (first.isRequired) title.append(element('span', 'required', 'required'));
  if (first.group) title.append(element('span', 'sub', first.group));
  const figures = ['calls', 'failures', 'rejections'].map((name) => {
    const value = element('dd'), made = element('div', name, element('dt', '', { calls: 'calls/s', failures: 'failed/s', rejections: 'rejected/s' }[name]), value);
    return [name, value, made];
  });
  const readings = element('dl', 'readings rates', ...figures.map(([, , made]) => made));
  const chart = $('chart').cloneNode(true), track = strip(), list = element('ul', 'rows');
  chart.removeAttribute('id');
  chart.removeAttribute('hidden');
  const node = element('section', 'part', element('div', 'head', title, badge, readings, track), list);
  node.setAttribute('aria-label', (first.group ? first.group + ' ' : '') + title.firstChild.textContent);

  function bars() {
    const { barLength, barsEnd } = summary, all = data.rates.bars, paths = ['', '', ''];
    const most = Math.max(1, ...all.map(([calls]) => calls));
    all.forEach(([calls, failures, rejections], index) => {
      const from = barsEnd - (all.length - index) * barLength;
      [calls, failures + rejections, failures].forEach((height, level) => {
        if (!height) return;
        const top = 100 - Math.max(6, height / most * 100);
        paths[level] += 'M' + place(from) + ' 100V' + top + 'H' + place(from + barLength) + 'V100Z';
      });
    });
    paths.forEach((path, level) => attribute(chart.children[level], 'd', path));
    track.replaceChildren(piece('unknown', -Infinity, recordedSince), chart);
    attribute(track, 'aria-label', 'At most ' + short(most / barLength * 1000) + ' calls per second in the last ' + length(history));
    drawn = performance.now();
  }
  return {
    node,
    get data() { return data; },
    update(next) {
      data = next;
      const { rates, status } = data;
      look(node, 'part ' + status);
      look(badge, 'badge ' + status);
      say(badge, status);
      readings.hidden = track.hidden = !rates;
      if (!rates) return;
      for (const [name, value, made] of figures) {
        say(value, short(rates[name]));
        look(made, rates[name] ? name : 'zero');
      }
      bars();
    },
    tick() { if (data.rates && performance.now() - drawn > 5000) bars(); },
    // Shows the rows that pass the filter.
    arrange(isWanted) {
      const wanted = data.rows.map((id) => rows.get(id)).filter((row) => row && isWanted(row.data));
      arrange(list, wanted.map((row) => row.node));
      return wanted.length > 0;
    },
  };
}

// The messages of the service.
function put(views, make, data) {
  if (!views.has(data.id)) views.set(data.id, make(data));
  views.get(data.id).update(data);
}
function arrangeAll() {
  const find = $('find').value.trim().toLowerCase(), only = $('attention').checked;
  const shown = order.map((id) => sections.get(id)).filter((section) => section.arrange((row) =>
    (!find || (row.fullName + ' ' + row.kind).toLowerCase().includes(find))
    && (!only || row.status !== 'up' || row.facts.level === 'byHand')));
  arrange($('parts'), shown.map((section) => section.node));
  $('filter').hidden = rows.size <= 12;
  $('nothing').hidden = shown.length > 0;
}
function total(id, number, className) {
  say($(id), count(number));
  look($(id), number > 0 && className ? className : '');
}
function sum() {
  const { name, status, totals } = summary;
  say($('name'), name);
  const open = (totals.states.open || 0) + (totals.states.isolated || 0);
  document.title = (open ? '(' + open + ' open) ' : '') + name + ' – Resilience';
  look($('status'), 'badge ' + status);
  say($('status'), status);
  total('t-components', totals.components);
  total('t-open', open, 'alert');
  total('t-half', totals.states['half-open'] || 0, 'warn');
  total('t-degraded', totals.degraded, 'warn');
  total('t-down', totals.down, 'alert');
  say($('foot'), (totals.omitted ? count(totals.omitted) + ' components that are well are not shown. ' : '')
    + (summary.barsEnd ? 'Calls per second are those of the last half minute. ' : '')
    + 'Recorded since the service started, ' + ago(recordedSince) + '.');
}
let logged = '';
function log() {
  const marks = [];
  for (const { data } of rows.values()) for (const mark of data.timeline ? data.timeline.marks : []) marks.push([mark, data]);
  const latest = marks.sort((one, other) => other[0].at - one[0].at).slice(0, 8);
  const key = latest.map(([mark, data]) => mark.at + mark.state + data.id).join();
  $('no-log').hidden = latest.length > 0;
  if (key !== logged) {
    logged = key;
    $('log').replaceChildren(...latest.map(([mark, data]) => {
      const time = element('time');
      time.dataset.at = mark.at;
      const level = { closed: 'up', halfOpen: 'degraded', open: 'down' }[mark.state];
      return element('li', '', time, element('span', 'badge ' + level, mark.state === 'halfOpen' ? 'half-open' : mark.state), element('span', '', data.fullName));
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
function take(data, isFirst) {
  heard(data, isFirst);
  if (data.summary) summary = data.summary;
  for (const row of data.rows) put(rows, makeRow, row);
  for (const section of data.sections) put(sections, makeSection, section);
  if (data.order) order = data.order;
  for (const id of [...sections.keys()]) if (!order.includes(id)) sections.delete(id);
  const listed = new Set([...sections.values()].flatMap((section) => section.data.rows));
  for (const id of [...rows.keys()]) if (!listed.has(id)) rows.delete(id);
  sum();
  arrangeAll();
  log();
}
function snapshot(data) {
  ({ history, recordedSince } = data);
  $('main').classList.toggle('by-hand', data.allowsActions);
  say($('axis'), 'The last ' + length(history) + ':');
  rows.clear();
  sections.clear();
  order = data.sections.map((section) => section.id);
  take(data, true);
}

function connect() {
  if (source) source.close();
  source = new EventSource(base + '/events');
  lastMessage = performance.now();
  const current = source;
  source.addEventListener('snapshot', (event) => snapshot(JSON.parse(event.data)));
  source.addEventListener('change', (event) => take(JSON.parse(event.data), false));
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
function tell(text) {
  say($('notice'), text);
  $('notice').hidden = !text;
}
function ask(row, choice) {
  asked = { row, choice };
  $('confirm-text').textContent = choice.question.replace('%', () => row.fullName);
  $('confirm-yes').textContent = choice.title;
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
      body: JSON.stringify({ component: row.component, place: row.place, action: choice.name }),
    });
    tell(answer.ok ? '' : 'Not done: ' + await answer.text());
  } catch (error) {
    tell('Not done: the service can not be reached.');
  }
});
$('filter').addEventListener('submit', (event) => event.preventDefault());
$('find').addEventListener('input', arrangeAll);
$('attention').addEventListener('change', arrangeAll);

setInterval(() => {
  if (performance.now() - lastMessage > 10000) { lost(); connect(); }
  if (offset === null) return;
  for (const view of [...rows.values(), ...sections.values()]) view.tick();
  log();
}, 250);
connect();
})();
