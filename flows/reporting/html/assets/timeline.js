// A session over time: tokens of its messages, the context under each method, and what was needed again later.
//
// Addresses: #timeline/SESSION/METHOD. The method is drawn in full; the others are thin lines.

const CHART = { height: 320, left: 58, right: 12, top: 22, lane: 5 };
const MOST_LANES = 60;
const MOST_VERTICES = 500;
const MOST_NEEDS = 500;

const timelineLink = (session, method) => "#timeline/" + [session, method].map(encodeURIComponent).join("/");

/** Tokens of all messages before each position; the last one is the whole session. */
function tokensBefore(tokens) {
  const sums = [0];
  for (const size of tokens) sums.push(sums[sums.length - 1] + (size ?? 0));
  return sums;
}

/** Size of the context before each position of a list: what the last compaction left and what came since.
 *  A compaction of the whole history (no chain) goes up to that first. */
function sizesUnder(place, points, sums, positions) {
  const sizes = [];
  let next = 0, shift = 0;
  for (const seq of positions) {
    while (next < points.length && points[next].cut <= seq) {
      const { cut, methods: left } = points[next++];
      const [before, after] = left[place] ?? [];
      if (typeof after !== "number") continue;
      if (cut === seq) sizes.push([seq, before]);
      shift = after - sums[cut];
    }
    sizes.push([seq, sums[seq] + shift]);
  }
  return sizes;
}

/** Needs of all points with the state under a method: met, lost, or null where that was not looked at. */
function needsOf(points, place) {
  return points.flatMap(({ cycle, methods: left, needs }) => needs.map(([kind, value, seen, tokens, needed], i) => {
    const lost = left[place]?.[2] ?? null;
    return { cycle, kind, value, seen, tokens, needed, state: lost === null ? null : lost.includes(i + 1) ? "gone" : "met" };
  }));
}

/** One stretch for all that one message had and another needs; lost where a method lost any of it after any point. */
function needStretches(needs) {
  const found = new Map();
  for (const { seen, needed, tokens, state, value } of needs) {
    const key = `${seen} ${needed}`, stretch = found.get(key) ?? { seen, needed, tokens, state, values: [] };
    if (!stretch.values.includes(value)) stretch.values.push(value);
    if (stretch.state !== "gone") stretch.state = state ?? stretch.state;
    found.set(key, stretch);
  }
  return [...found.values()];
}

const roundUp = (value) => {
  const unit = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return unit * [1, 2, 5, 10].find((step) => step * unit >= value);
};

function timelineChart(pack, shown, place, session, needs, width) {
  const { tokens, points } = pack.over_time, sums = tokensBefore(tokens), n = tokens.length;
  const step = Math.max(1, Math.ceil(n / MOST_VERTICES));
  const positions = [...new Set([...Array.from({ length: Math.floor(n / step) + 1 }, (_, i) => i * step), n, ...points.map(({ cut }) => cut)])]
    .filter((seq) => seq <= n).sort((a, b) => a - b);
  const places = methods.map((_, other) => other).filter((other) => points.some((point) => typeof point.methods[other]?.[1] === "number"));
  const lines = new Map(places.map((other) => [other, sizesUnder(other, points, sums, positions)]));
  const top = roundUp(Math.max(sums[n], ...[...lines.values()].flat().map(([, size]) => size)));
  const stretches = needStretches(needs);
  const lanes = stretches.slice().sort((a, b) => b.tokens - a.tokens).slice(0, MOST_LANES).sort((a, b) => a.seen - b.seen);
  const { left, right, height, lane } = CHART, floor = height - 24;
  const x = (seq) => (left + ((width - left - right) * seq) / Math.max(n, 1)).toFixed(1);
  const y = (size) => (floor - ((floor - CHART.top) * size) / top).toFixed(1);
  const path = (found) => "M" + found.map(([seq, size]) => `${x(seq)} ${y(size)}`).join("L");
  const text = (at, words, attributes) => {
    const node = svg("text", { x: at[0], y: at[1], ...attributes });
    node.textContent = words;
    return node;
  };
  const titled = (node, words) => {
    const title = svg("title", {});
    title.textContent = words;
    node.append(title);
    return node;
  };
  const chart = svg("svg", {
    id: "timeline", class: "timeline", width, height: height + lane * lanes.length + 8, viewBox: `0 0 ${width} ${height + lane * lanes.length + 8}`,
    role: "group", "aria-label": word("timeline_of", { method: methods[place] }),
  });
  for (const size of [0, top / 2, top]) {
    chart.append(svg("path", { class: "grid", d: `M${left} ${y(size)}H${width - right}` }),
      text([left - 6, Number(y(size)) + 4], whole(size), { "text-anchor": "end" }));
  }
  chart.append(text([left, floor + 16], "#0", {}), text([width - right, floor + 16], `#${n}`, { "text-anchor": "end" }));
  chart.append(titled(svg("path", { class: "history", d: `${path(positions.map((seq) => [seq, sums[seq]]))}L${x(n)} ${y(0)}L${x(0)} ${y(0)}Z` }), word("history")));
  for (const [other, found] of lines) {
    if (other !== place) chart.append(titled(svg("path", { class: "other", d: path(found) }), methods[other]));
  }
  if (lines.has(place)) chart.append(titled(svg("path", { class: "chosen", d: path(lines.get(place)) }), methods[place]));
  let labelled = -Infinity;
  for (const { cycle, cut } of points) {
    const mark = shown.has(cycle)
      ? svg("a", { href: link(methods[place], session.id, cycle), "aria-label": word("point", { n: cycle }) }) : svg("g", {});
    mark.append(svg("path", { class: "point", d: `M${x(cut)} ${CHART.top}V${floor}` }));
    if (x(cut) - labelled > 16) {  // numbers do not touch
      mark.append(text([x(cut), CHART.top - 6], String(cycle), { "text-anchor": "middle" }));
      labelled = Number(x(cut));
    }
    chart.append(titled(mark, word("point", { n: cycle })));
  }
  lanes.forEach((need, i) => {
    const at = height + lane * i;
    chart.append(titled(svg("path", { class: `need ${need.state ?? "unknown"}`, d: `M${x(need.seen)} ${at}H${x(Math.min(need.needed, n))}` }),
      `#${need.seen} → #${need.needed}: ${need.values.map((value) => textOf(pack, value)).join(", ").slice(0, 300)}`));
  });
  return el("figure", {}, chart, el("figcaption", {}, word("timeline_said", { method: methods[place] }),
    lanes.length < stretches.length ? ` ${word("needs_drawn", { shown: whole(lanes.length), n: whole(stretches.length) })}` : ""));
}

function cyclesTable(points, shown, place, session) {
  const rows = points.map(({ cycle, cut, methods: left, needs }) => {
    const [before, after, lost] = left[place] ?? [], name = word("point", { n: cycle });
    return el("tr", {}, el("th", { scope: "row" }, shown.has(cycle) ? el("a", { href: link(methods[place], session.id, cycle) }, name) : name),
      cell(cut, whole(cut)), cell(before, whole(before)), cell(after, whole(after)), cell(needs.length, whole(needs.length)),
      cell(lost?.length, whole(lost?.length)));
  });
  const heads = [[word("point_head"), "s"], [word("messages_before"), "n"], [word("size_before"), "n"], [word("size_after"), "n"],
    [word("needs"), "n"], [word("needs_lost"), "n"]];
  return tableOf(word("cycles_of", { method: methods[place] }), heads, rows);
}

function needsTable(pack, needs, place) {
  const rows = needs.slice(0, MOST_NEEDS).map((need) => el("tr", {}, el("th", { scope: "row" }, word(`need_${need.kind}`)),
    el("td", { class: "text" }, bdi(textOf(pack, need.value))), cell(need.cycle, whole(need.cycle)), cell(need.seen, `#${need.seen}`),
    cell(need.needed, `#${need.needed}`), cell(need.tokens, whole(need.tokens)),
    el("td", {}, need.state === null ? missing : word(`need_${need.state}`))));
  const heads = [[word("need"), "s"], [word("need_value"), "s"], [word("point_head"), "n"], [word("need_seen"), "n"],
    [word("needed_at"), "n"], [word("need_tokens"), "n"], [methods[place], "s"]];
  const rest = needs.length > rows.length ? ` · ${word("needs_drawn", { shown: whole(rows.length), n: whole(needs.length) })}` : "";
  return tableOf(word("needs_said") + rest, heads, rows);
}

async function timelineView([id, name]) {
  const place = Math.max(methods.indexOf(name), 0);
  const pack = await (data.is_live ? ask("timeline", { session: id }) : unpack(id));
  const session = pack?.session ?? data.sessions.find((one) => one.id === id);
  if (!pack || !session) return [crumbs([]), heading(word("nothing"))];
  const { points } = pack.over_time, needs = needsOf(points, place);
  const shown = new Set(pack.cycles ?? pack.points.map(({ cycle }) => cycle));  // those that have a place of their own
  const choose = el("select", { id: "timeline-method" }, methods.map((other, i) => el("option", { value: i }, other)));
  choose.value = String(place);
  choose.addEventListener("change", () => (location.hash = timelineLink(id, methods[Number(choose.value)])));
  const width = Math.min(Math.max(document.querySelector("main").clientWidth - 32, 280), 1180);
  return [
    crumbs([{ key: methods[place], name: methods[place] }, { key: id, name: session.title }, { key: "", name: word("timeline") }]),
    heading(bdi(session.title)), el("p", { class: "controls" }, el("label", {}, word("method"), " ", choose)),
    timelineChart(pack, shown, place, session, needs, width), cyclesTable(points, shown, place, session), needsTable(pack, needs, place),
  ];
}

pages.timeline = timelineView;
