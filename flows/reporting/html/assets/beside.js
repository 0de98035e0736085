// A point side by side: its history, and beside each message what became of it in one to four methods.
//
// Addresses: #beside/SESSION/POINT/MODE/QUESTION/METHOD/METHOD…; QUESTION may be "-". The first method is the baseline.

const MOST_BESIDE = 4;
const FEWEST_FOLDED = 3;
const MODES = ["all", "differences", "failures"];
const SHOWN_TOGETHER = 400;
const MOST_ROWS = 600;

const besideLink = (state) =>
  "#beside/" + [state.session, state.cycle, state.mode, state.key, ...state.places.map((place) => methods[place])].map(encodeURIComponent).join("/");

/** Fate of each message under a method; of one without a context nothing is known. */
function fatesOf(left, cut) {
  const fates = new Array(cut).fill(left?.context ? "kept" : "none");
  if (left?.context) {
    for (const fate of ["edited", "covered", "dropped"]) {
      for (const [first, last] of left[fate]) fates.fill(fate, first, Math.min(last + 1, cut));
    }
  }
  return fates;
}

/** What the method wrote itself or changed: message → what it became, and message before which others stand. */
function writtenBy(left, cut) {
  const became = new Map(), made = new Map();
  let waiting = [];
  const place = (at, items) => items.length && made.set(at, [...(made.get(at) ?? []), ...items]);
  for (const item of left?.context ?? []) {
    if (typeof item[0] === "number") {
      place(item[0], waiting);
      waiting = [];
    } else if (item[1] !== null) {
      became.set(item[1], item[0]);
    } else if (item[2].length) {
      place(item[2][0][0], [item]);  // a summary stands where what it covers stood
    } else {
      waiting.push(item);
    }
  }
  place(cut, waiting);
  return { became, made };
}

/** Stretches of messages with the same fate in every method. A message that proves a truth stands alone. */
function stretchesOf(columns, cut, alone) {
  const found = [];
  for (let seq = 0; seq < cut; seq++) {
    const last = found[found.length - 1];
    const fates = columns.map((column) => column.fates[seq]);
    const begins = !last || alone.has(seq) || alone.has(seq - 1) || columns.some((column) => column.made.has(seq))
      || fates.some((fate, i) => fate !== last.fates[i]);
    if (begins) found.push({ first: seq, last: seq, fates });
    else last.last = seq;
  }
  return found;
}

/** Fewer stretches: neighbours are put together where there are too many to look at, but for messages that stand alone. */
function putTogether(stretches, columns, alone) {
  if (stretches.length <= MOST_ROWS) return stretches;
  const most = Math.ceil(stretches.length / (MOST_ROWS / 2)), found = [];
  let room = 0;
  for (const stretch of stretches) {
    const last = found[found.length - 1];
    const isApart = !last || room === 0 || last.last + 1 !== stretch.first || alone.has(stretch.first) || alone.has(last.last)
      || columns.some((column) => column.made.has(stretch.first));
    if (isApart) {
      found.push({ ...stretch });
      room = most;
    } else last.last = stretch.last;
    room--;
  }
  return found;
}

const isEven = (fates) => fates.every((fate) => fate === fates[0]) && (fates.length > 1 || fates[0] === "kept");

/** Lines that were taken out and put in; what both have in common at the beginning and the end is left out. */
function changeOf(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let head = 0, tail = 0;
  while (head < Math.min(a.length, b.length) && a[head] === b[head]) head++;
  while (tail < Math.min(a.length, b.length) - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const part = (name, lines) => (lines.length ? el(name, { class: "said code", dir: "auto" }, lines.join("\n")) : null);
  const same = (n) => (n ? el("p", { class: "note" }, word("lines_same", { n: whole(n) })) : null);
  return el("div", { class: "change" }, same(head), part("del", a.slice(head, a.length - tail)), part("ins", b.slice(head, b.length - tail)), same(tail));
}

const textOf = (pack, place) => (place === null || place === undefined ? "" : [pack.texts[place]].flat()[0]);

const inOneLine = (text) => text.replace(/\s+/g, " ").trim();

/** A message that a method wrote, with the lines marked from which a statement can be read. */
function madeBox(pack, [message, , covers], marks) {
  const text = inOneLine(textOf(pack, message[4]));
  const lines = marks.filter((line) => text.includes(line));
  return el("div", {}, messageBox(pack, message, { fate: "made", label: word("made", { n: sizeOf(covers) }) }),
    covers.length ? el("p", { class: "note" }, word("stands_for"), " ", covers.map(([first, last]) =>
      [el("button", { type: "button", class: "to", "data-to": first }, first === last ? `#${first}` : `#${first}–#${last}`), " "])) : null,
    lines.length ? el("p", { class: "note" }, word("says_it")) : null, lines.map((line) => el("mark", { class: "said", dir: "auto" }, line)));
}

function fateCell(pack, column, seq, marks) {
  const fate = column.fates[seq];
  const made = (column.made.get(seq) ?? []).map((item) => madeBox(pack, item, marks(column)));
  const became = column.became.get(seq);
  let shown = el("span", { class: "fate" }, fate === "none" ? missing : word(fate));
  if (became) {
    const original = pack.messages[seq];
    shown = el("details", { class: "message edited" }, el("summary", {}, el("span", { class: "fate" }, word("edited")),
      el("span", { class: "start", dir: "auto" }, startOf(pack, became))));
    shown.addEventListener("toggle", async () => {
      if (shown.childElementCount > 1) return;
      const [full, message] = await wholeMessage(pack, original, seq);
      shown.append(changeOf(textOf(full, message[4]), textOf(pack, became[4])));
    });
  }
  return el("div", { class: `fates ${fate}` }, made, shown);
}

function lineOf(pack, view, seq, proofs) {
  return el("div", { class: "line", id: `m-${seq}`, "data-seq": seq },
    el("div", {}, messageBox(pack, pack.messages[seq], { seq, fate: "kept", label: "", proof: proofs.has(seq) })),
    view.columns.map((column) => fateCell(pack, column, seq, view.marks)));
}

function stretchLine(pack, view, stretch, proofs) {
  const { first, last } = stretch;
  const inside = pack.messages.slice(first, last + 1);
  const tokens = inside.reduce((sum, message) => sum + (message[1] ?? 0), 0);
  const open = el("button", { type: "button", class: "fold" }, word("messages_fold", { first, last, n: whole(last - first + 1), tokens: whole(tokens) }));
  const line = el("div", { class: "line folded", id: `m-${first}`, "data-seq": first }, el("div", {}, open),
    view.columns.map((column) => {
      const counts = new Map();
      for (const fate of column.fates.slice(first, last + 1)) counts.set(fate, (counts.get(fate) ?? 0) + 1);
      const told = [...counts].map(([fate, n]) => (fate === "none" ? missing : counts.size > 1 ? `${whole(n)} ${word(fate)}` : word(fate)));
      return el("div", { class: `fates ${counts.size > 1 ? "" : column.fates[first]}` },
        (column.made.get(first) ?? []).map((item) => madeBox(pack, item, view.marks(column))), el("span", { class: "fate" }, told.join(" · ")));
    }));
  open.addEventListener("click", () => unfold(pack, view, line, first, last, proofs));
  return line;
}

/** Show the messages of a stretch one by one, so many at a time. */
function unfold(pack, view, line, first, last, proofs) {
  const end = Math.min(last, first + SHOWN_TOGETHER - 1);
  const lines = Array.from({ length: end - first + 1 }, (_, i) => lineOf(pack, view, first + i, proofs));
  if (end < last) lines.push(stretchLine(pack, view, { first: end + 1, last }, proofs));
  line.replaceWith(...lines);
  lines[0].querySelector("summary")?.focus();
}

/** Widths by tokens, colours by what became of the messages or by who said them; a tick for what proves something. */
function minimap(pack, cut, kindOf, proofs, label) {
  const sizes = pack.messages.slice(0, cut).map((message) => (message[1] ?? 0) + 1);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const map = svg("svg", { class: "map", viewBox: "0 0 1000 12", preserveAspectRatio: "none", role: "img", "aria-label": label });
  let at = 0, begun = 0, kind = null;
  const paths = new Map();  // one for each kind: ten thousand messages are not ten thousand elements
  const close = () => kind !== null && paths.set(kind, `${paths.get(kind) ?? ""}M${begun.toFixed(2)} 0H${at.toFixed(2)}V12H${begun.toFixed(2)}Z`);
  const starts = [];
  sizes.forEach((size, seq) => {
    if (kindOf(seq) !== kind) {
      close();
      [kind, begun] = [kindOf(seq), at];
    }
    starts.push(at);
    at += (1000 * size) / total;
  });
  close();
  for (const [name, d] of paths) map.append(svg("path", { class: `kind-${name}`, d }));
  for (const seq of proofs) if (seq < cut) map.append(svg("rect", { class: "proof", x: starts[seq], y: 0, width: 2.5, height: 12 }));
  map.addEventListener("click", (event) => {
    const x = (1000 * event.offsetX) / map.clientWidth;
    showMessage(starts.findLastIndex((start) => start <= x));
  });
  return map;
}

/** Scroll to a message, or to the stretch that holds it. */
function showMessage(seq) {
  const lineNodes = () => [...document.querySelectorAll("#beside .line")];
  while (!(Number(lineNodes().at(-1).dataset.seq) >= seq) && document.getElementById("beside").drawMore()) continue;
  const lines = lineNodes();
  const line = lines.findLast((one) => Number(one.dataset.seq) <= seq);
  if (!line) return;
  line.scrollIntoView({ block: "center" });
  line.classList.add("here");
  setTimeout(() => line.classList.remove("here"), 2000);
}

/** How a column's answers compare with the baseline's: [better, worse]. */
function changesTo(point, place, baseline) {
  const pairs = point.probes.map((probe) => [probe.answers[place]?.[2] ?? null, probe.answers[baseline]?.[2] ?? null])
    .filter(([mine, other]) => mine !== null && other !== null);
  return [pairs.filter(([mine, other]) => mine > other).length, pairs.filter(([mine, other]) => mine < other).length];
}

function columnHead(pack, point, state, column, i, proofs) {
  const { place, left } = column;
  const go = (places) => (location.hash = besideLink({ ...state, places }));
  const choose = el("select", { "aria-label": word("method") }, methods.map((name, other) => el("option", { value: other }, name)));
  choose.value = String(place);
  choose.addEventListener("change", () => go(state.places.with(i, Number(choose.value))));
  const button = (label, name, places) => {
    const made = el("button", { type: "button", title: label, "aria-label": label }, name);
    made.addEventListener("click", () => go(places));
    return made;
  };
  const scores = point.probes.map((probe) => probe.answers[place]?.[2]).filter((score) => score !== null && score !== undefined);
  const mean = scores.length ? scores.reduce((sum, score) => sum + score, 0) / scores.length : null;
  const [better, worse] = changesTo(point, place, state.places[0]);
  return el("div", { class: "head" }, el("div", { class: "controls" }, choose,
    i ? button(word("move_left"), "←", [...state.places.slice(0, i - 1), place, state.places[i - 1], ...state.places.slice(i + 1)]) : null,
    state.places.length > 1 ? button(word("take_out"), "×", state.places.filter((_, other) => other !== i)) : null),
    el("p", {}, el("strong", {}, fixed(mean)), " ", i ? word("against", { better, worse }) : word("baseline")),
    el("p", { class: "note" }, left?.context ? word("tokens_left", { before: whole(left.before), after: whole(left.after) })
      : left && left.error !== null ? textOf(pack, left.error) : word("no_context")),
    left?.context ? minimap(pack, point.cut, (seq) => column.fates[seq], proofs, word("map_of", { method: methods[place] })) : null);
}

function probesTable(pack, point, state) {
  const rows = point.probes.map((probe) => el("tr", { class: probe.key === state.key ? "chosen" : null },
    el("th", { scope: "row" }, el("a", { href: besideLink({ ...state, key: probe.key }), "aria-current": probe.key === state.key ? "true" : null }, word(`probe_${probe.type}`))),
    state.places.map((place) => cell(probe.answers[place]?.[2] ?? null, scoreOf(probe.answers[place]))),
    el("td", { class: "text" }, bdi(textOf(pack, probe.question)))));
  const heads = [[word("probe"), "s"], ...state.places.map((place) => [methods[place], "n"]), [word("probe_text"), "s"]];
  return tableOf(word("probes_here"), heads, rows);
}

function probeDrawer(pack, point, state, probe) {
  return el("article", { class: "card", id: "drawer" }, el("h3", {}, word(`probe_${probe.type}`)), said(pack, probe.question),
    el("h3", {}, word("truth")), said(pack, probe.truth),
    probe.evidence.map(([seq, quote]) => el("div", { class: "evidence" }, el("p", { class: "note" },
      el("button", { type: "button", class: "to", "data-to": seq }, word("message_n", { n: seq })), " ",
      state.places.map((place, i) => {
        const fate = point.methods[place]?.context ? fateOf(point.methods[place], seq) : null;
        return fate ? [i ? " · " : "", bdi(methods[place]), ": ", el("span", { class: `fate ${fate}` }, word(fate))] : "";
      })), said(pack, quote, "code"))),
    el("div", { class: "answers" }, state.places.map((place) => el("div", {}, el("h3", {}, bdi(methods[place]), ` · ${scoreOf(probe.answers[place])}`),
      answerBody(pack, probe.answers[place], point.methods[place])))),
    lostFacts(pack, point, probe, state.places), statementsTable(pack, probe, state.places));
}

/** What of the contexts says the statements of the chosen question, as far as it was kept. */
const marksOf = (pack, probe) => ({ place }) =>
  [...new Set((probe?.answers[place]?.[6] ?? []).map(([, , lines]) => inOneLine(textOf(pack, lines).replace(/…$/, ""))))].filter(Boolean);

function isFailed(probe, places) {
  return places.some((place) => (probe.answers[place]?.[6] ?? []).some(([state]) => state !== "readable"));
}

function besideBody(pack, point, state, probe, proofs) {
  const cut = point.cut;
  const columns = state.places.map((place) => {
    const left = point.methods[place];
    return { place, left, fates: fatesOf(left, cut), ...writtenBy(left, cut) };
  });
  const failed = new Set(point.probes.filter((one) => isFailed(one, state.places)).flatMap((one) => one.evidence.map(([seq]) => seq)));
  const view = { columns, marks: marksOf(pack, probe) };
  const wanted = { all: () => true, differences: ({ fates }) => !isEven(fates), failures: ({ first }) => failed.has(first) }[state.mode];
  const stretches = putTogether(stretchesOf(columns, cut, proofs).filter(wanted), columns, proofs);
  const lines = stretches.map((stretch) => () =>
    stretch.last - stretch.first + 1 < FEWEST_FOLDED
      ? Array.from({ length: stretch.last - stretch.first + 1 }, (_, i) => lineOf(pack, view, stretch.first + i, proofs))
      : [stretchLine(pack, view, stretch, proofs)]);
  const end = columns.some((column) => column.made.has(cut))
    ? [() => el("div", { class: "line", "data-seq": cut }, el("div", {}), columns.map((column) =>
        el("div", { class: "fates made" }, (column.made.get(cut) ?? []).map((item) => madeBox(pack, item, view.marks(column))))))] : [];
  const history = el("div", { class: "head" }, el("p", {}, el("strong", {}, word("history"))),
    el("p", { class: "note" }, word("n_messages", { n: whole(cut) })),
    minimap(pack, cut, (seq) => pack.messages[seq][0], proofs, word("history")));
  const grid = el("div", { id: "beside", class: `beside n${columns.length}` },
    el("div", { class: "line heads" }, history, columns.map((column, i) => columnHead(pack, point, state, column, i, proofs))),
    lines.length ? null : el("p", {}, word("no_lines")));
  fillInPieces(grid, [...lines, ...end]);
  grid.addEventListener("click", (event) => {
    const to = event.target.closest("[data-to]");
    if (to) showMessage(Number(to.dataset.to));
  });
  return grid;
}

const KEYS = { j: [0, 1], k: [0, -1], n: [1, 1], p: [1, -1], m: [2, 1] };

/** j and k: the next point and the one before; n and p: questions; m: the next method in the last column. */
function keysFor(state, cycles, keys) {
  return (event) => {
    const found = KEYS[event.key];
    if (!found || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    const [what, step] = found;
    const next = (list, now) => list[Math.min(list.length - 1, Math.max(0, list.indexOf(now) + step))];
    const last = state.places.length - 1;
    const changes = [
      () => ({ cycle: next(cycles, state.cycle), key: "-" }),
      () => ({ key: next(keys, state.key) }),
      () => ({ places: state.places.with(last, (state.places[last] + 1) % methods.length) }),
    ];
    location.hash = besideLink({ ...state, ...changes[what]() });
  };
}

async function besideView([session, cycle, mode = "all", key = "-", ...names]) {
  const places = names.map((name) => methods.indexOf(name)).filter((place) => place >= 0).slice(0, MOST_BESIDE);
  const pack = await packOf(session, cycle, places);
  const point = pack?.points.find((one) => String(one.cycle) === cycle);
  if (!point || !places.length) return [crumbs([]), heading(word("nothing"))];
  const about = pack.session ?? data.sessions.find((one) => one.id === session);
  const state = { session, cycle: point.cycle, mode: MODES.includes(mode) ? mode : "all", key, places };
  const probe = point.probes.find((one) => one.key === key);
  const proofs = new Set((probe ? [probe] : point.probes).flatMap((one) => one.evidence.map(([seq]) => seq)));
  const cycles = (pack.cycles ?? pack.points.map((one) => one.cycle)).slice().sort((a, b) => a - b);
  onKey = keysFor(state, cycles, point.probes.map((one) => one.key));
  const choices = (list, now, linkOf, label) => el("ul", { class: "tabs" }, list.map((one) => el("li", {},
    el("a", { href: linkOf(one), "aria-current": one === now ? "page" : null }, label(one)))));
  const add = el("button", { type: "button", id: "add-method" }, word("add_method"));
  add.addEventListener("click", () => {
    const rest = methods.findIndex((_, place) => !places.includes(place) && !data.board[place].is_control);
    location.hash = besideLink({ ...state, places: [...places, Math.max(rest, 0)] });
  });
  const grid = besideBody(pack, point, state, probe, proofs);
  const drawer = probe ? probeDrawer(pack, point, state, probe) : null;
  drawer?.addEventListener("click", (event) => {
    const to = event.target.closest("[data-to]");
    if (to) showMessage(Number(to.dataset.to));
  });
  return [
    crumbs([{ key: methods[places[0]], name: methods[places[0]] }, { key: session, name: about.title }, { key: cycle, name: word("point", { n: cycle }) }, { key: "", name: word("beside") }]),
    heading(bdi(about.title), " · ", word("point", { n: cycle })),
    cycles.length > 1 ? choices(cycles, point.cycle, (one) => besideLink({ ...state, cycle: one, key: "-" }), (one) => word("point", { n: one })) : null,
    probesTable(pack, point, state), drawer,
    el("div", { class: "controls" }, choices(MODES, state.mode, (one) => besideLink({ ...state, mode: one }), (one) => word(`mode_${one}`)),
      places.length < MOST_BESIDE ? add : null),
    el("p", { class: "note" }, word("beside_keys")), grid,
  ].filter(Boolean);
}

pages.beside = besideView;
addEventListener("keydown", (event) => onKey?.(event));
