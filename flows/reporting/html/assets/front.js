// The chart that the page opens with: what each method keeps against what it costs, with names that cover nothing.

const PLOT = { left: 40, right: 12, bottom: 46, dot: 5, longest: 30 };
const WIDE = { height: 430, top: 48 }, NARROWER = { height: 440, top: 104 };  // above the axes is room for names
const NEAR = [[10, 4, "start"], [-10, 4, "end"], [0, -10, "middle"], [0, 19, "middle"],
  [8, -7, "start"], [8, 16, "start"], [-8, -7, "end"], [-8, 16, "end"]];
const farPlaces = (...reaches) => reaches.flatMap((reach) => [0.4, -0.4, 0.8, -0.8, 1.1, -1.1, 1.4, -1.4].flatMap((angle) => {
  const [dx, dy] = [reach * Math.cos(angle), reach * Math.sin(angle) + 4];
  return [[dx, dy, "start"], [-dx, dy, "end"]];
}));
const FAR = farPlaces(26, 40), FARTHER = farPlaces(26, 40, 56, 76, 100, 130);

const touches = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const boxOf = ([x, y], anchor, width) => {
  const left = x - (anchor === "end" ? width : anchor === "middle" ? width / 2 : 0);
  return { left, right: left + width, top: y - 11, bottom: y + 4 };
};

/** The line from a point to another, as small boxes. */
function stepsTo({ x, y }, dx, dy) {
  const n = Math.ceil(Math.hypot(dx, dy) / 3);
  return Array.from({ length: n }, (_, i) => [x + (dx * (i + 1)) / n, y + (dy * (i + 1)) / n])
    .map(([left, top]) => ({ left, right: left + 1, top, bottom: top + 1 }));
}

/**
 * A place for each name, the first ones first: beside its dot, else at the end of a line, else none.
 *
 * Points have x, y, the width of their name, and the places at the end of a line that it may have. A name covers no dot, no other name and nothing that is taken, stays in
 * the frame, and keeps off the soft boxes where it can.
 */
function placeNames(points, frame, taken, soft) {
  const dots = points.map(({ x, y }) => ({ left: x - 7, right: x + 7, top: y - 7, bottom: y + 7 }));
  const names = [...taken];
  const isFree = (box, hard) => box.left >= frame.left && box.right <= frame.right && box.top >= frame.top
    && box.bottom <= frame.bottom && !hard.some((other) => touches(box, other));
  return points.map((point, i) => {
    for (const [places, off] of [[NEAR, soft], [NEAR, []], [point.far, []]]) {
      for (const [dx, dy, anchor] of places) {
        const at = [point.x + dx, point.y + dy], box = boxOf(at, anchor, point.width);
        const lead = places === point.far ? stepsTo(point, dx - Math.sign(dx) * 3, dy - 4) : [];
        const others = [...names, ...dots.filter((_, other) => other !== i)];
        const isCrossed = lead.some((step) => others.some((other) => touches(other, step)));
        if (isCrossed || !isFree(box, [...names, ...dots, ...off])) continue;
        names.push(box, ...lead);
        return { at, anchor, lead };
      }
    }
    return null;
  });
}

/** Round numbers between two others, about so many. */
function roundTicks(low, high, about) {
  const rough = (high - low) / about, ten = 10 ** Math.floor(Math.log10(rough));
  const step = ten * ([1, 2, 5].find((one) => one * ten >= rough) ?? 10);
  return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, i) => Number(((Math.ceil(low / step) + i) * step).toPrecision(9)));
}

/** An axis that fits these values: from a value to a pixel, and its ticks; logarithmic where they are far apart. */
function fittedAxis(values, [from, to], about, canBeLog) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const isLog = canBeLog && least > 0 && most / least > 4;
  const [turn, back] = isLog ? [Math.log, Math.exp] : [(value) => value, (value) => value];
  const room = 0.06 * (turn(most) - turn(least)) || 0.1 * Math.abs(most) || 1;
  const [low, high] = [turn(least) - room, turn(most) + room];
  const at = (value) => from + ((to - from) * (turn(value) - low)) / (high - low);
  const powers = Array.from({ length: 40 }, (_, n) => 10 ** (n - 20)).flatMap((ten) => [1, 2, 5].map((one) => Number((one * ten).toPrecision(3))));
  const [start, end] = [back(low), back(high)];
  const ticks = isLog ? powers.filter((tick) => tick >= start && tick <= end) : roundTicks(start, end, about);
  return { at, start, end, ticks };
}

/** A price in short: 16k tokens, $0.12. */
function shortCost(value) {
  if (data.cost_in !== "tokens") return `$${value < 0.01 ? Number(value.toPrecision(2)) : value.toFixed(2)}`;
  const [unit, name] = value >= 1e6 ? [1e6, "M"] : value >= 1e3 ? [1e3, "k"] : [1, ""];
  return Number((value / unit).toPrecision(3)) + name;
}

function written(at, words, attributes) {
  const node = svg("text", { x: at[0].toFixed(1), y: at[1].toFixed(1), ...attributes });
  node.textContent = words;
  return node;
}

/** The name in the chart: without parameters, where no other method has it. */
function chartName(name, heads) {
  const [head, rest] = partedName(name);
  const whole = heads.filter((other) => other === head).length > 1 ? `${head} ${rest.replace(/^[([]|[)\]]$/g, "")}` : head;
  return whole.length > PLOT.longest ? `${whole.slice(0, PLOT.longest - 1)}…` : whole;
}

/** The controls: lines at score and price, the score's at the edge with an arrow where it lies beyond it. Gives the boxes of lines and names. */
function drawControls(chart, x, y, frame, dots) {
  const boxes = [], lines = [];
  for (const row of data.board.filter((one) => one.is_control && one.overall !== null)) {
    const beyond = row.overall > y.end ? "↑ " : row.overall < y.start ? "↓ " : "";
    const at = Math.min(Math.max(y.at(row.overall), frame.top + 2), frame.bottom - 2);
    const words = `${beyond}${row.method} ${fixed(row.overall)}` + (row.cost ? ` · ${shortCost(row.cost)}` : "");
    chart.append(svg("path", { class: "control", d: `M${frame.left} ${at.toFixed(1)}H${frame.right}` }));
    if (row.cost > x.start && row.cost < x.end) chart.append(svg("path", { class: "control", d: `M${x.at(row.cost).toFixed(1)} ${frame.top}V${frame.bottom}` }));
    lines.push({ left: frame.left, right: frame.right, top: at - 1, bottom: at + 1 });
    const name = written([0, 0], words, { class: "name" });
    chart.append(name);
    const width = name.getComputedTextLength() + 4;
    const step = (frame.right - frame.left - width - 8) / 8;
    const places = Array.from({ length: 9 }, (_, i) => frame.right - 4 - i * step).flatMap((right) =>
      [-5, 14].map((dy) => ({ right, at: at + dy, box: boxOf([right, at + dy], "end", width) })));
    const inside = places.filter(({ box }) => box.top >= frame.top - 12 && box.bottom <= frame.bottom);
    const found = inside.find(({ box }) => ![...dots, ...boxes].some((other) => touches(box, other))) ?? inside[0];
    for (const [key, value] of [["x", found.right.toFixed(1)], ["y", found.at.toFixed(1)], ["text-anchor", "end"]]) name.setAttribute(key, value);
    boxes.push(found.box);
  }
  return { names: boxes, lines };
}

function drawAxes(chart, x, y, frame) {
  let right = -Infinity;
  for (const tick of x.ticks) {
    const at = x.at(tick), name = written([at, frame.bottom + 16], shortCost(tick), { class: "tick", "text-anchor": "middle" });
    chart.append(svg("path", { class: "grid", d: `M${at.toFixed(1)} ${frame.top}V${frame.bottom}` }));
    if (at - 18 > right) chart.append(name), (right = at + 18);
  }
  for (const tick of y.ticks.filter((one) => one >= 0 && one <= 5)) {
    chart.append(svg("path", { class: "grid", d: `M${frame.left} ${y.at(tick).toFixed(1)}H${frame.right}` }),
      written([frame.left - 6, y.at(tick) + 4], String(tick), { class: "tick", "text-anchor": "end" }));
  }
  chart.append(written([0, 12], word("front_y"), { class: "tick" }),
    written([(frame.left + frame.right) / 2, frame.bottom + 36], word(data.cost_in === "tokens" ? "front_tokens" : "front_usd"), { class: "tick", "text-anchor": "middle" }));
}

/** A method's dot, which leads to its sessions. */
function dotOf({ row, x, y }) {
  const said = { [word("method")]: row.method, [word("front_y")]: fixed(row.overall), [word("front_cost")]: shortCost(row.cost) };
  const dot = svg("a", { href: link(row.method), class: row.on_front ? "dot first" : "dot", "aria-label": Object.values(said).join(", ") });
  const place = { cx: x.toFixed(1), cy: y.toFixed(1) };
  dot.append(svg("circle", { ...place, r: 10, class: "reach" }), svg("circle", { ...place, r: PLOT.dot }));
  dot.addEventListener("pointerenter", (event) => tip(null, event, null, said));
  dot.addEventListener("pointerleave", () => tip(null, null, null, null));
  return dot;
}

function drawFront() {
  const place = document.getElementById("front"), width = place?.clientWidth;
  if (!width) return;
  const wanted = new Set(wantedMethods());
  const rows = data.board.filter((row) => wanted.has(row.method) && !row.is_control && row.overall !== null && row.cost > 0);
  if (!rows.length) return place.replaceChildren(el("p", { class: "note" }, word("no_rows")));
  const { height, top } = width < NARROW ? NARROWER : WIDE;
  const frame = { left: PLOT.left, right: width - PLOT.right, top, bottom: height - PLOT.bottom };
  const [least, most] = [Math.min(...rows.map((row) => row.overall)), Math.max(...rows.map((row) => row.overall))];
  const near = data.board.filter((row) => row.is_control && row.overall > least - (most - least) / 4 - 0.05);
  const x = fittedAxis(rows.map((row) => row.cost), [frame.left, frame.right], width / 90, true);
  const y = fittedAxis([...rows, ...near].map((row) => row.overall), [frame.bottom, frame.top], 6, false);
  const chart = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": word("front_label") });
  place.replaceChildren(chart);
  drawAxes(chart, x, y, frame);
  const heads = rows.map((row) => partedName(row.method)[0]);
  const points = rows.map((row) => ({ row, x: x.at(row.cost), y: y.at(row.overall), words: chartName(row.method, heads) }));
  const line = points.filter(({ row }) => row.on_front).sort((a, b) => a.x - b.x);
  const corners = line.map((point, i) => ({ ...point, until: line[i + 1]?.x ?? frame.right, next: line[i + 1]?.y ?? point.y }));
  if (line.length) {
    chart.append(svg("path", { class: "line", d: `M${corners.map((one) => `${one.x.toFixed(1)} ${one.y.toFixed(1)}H${one.until.toFixed(1)}`).join("L")}` }));
  }
  const soft = corners.flatMap((one) => [{ left: one.x, right: one.until, top: one.y - 1, bottom: one.y + 1 },
    { left: one.until - 1, right: one.until + 1, top: Math.min(one.y, one.next), bottom: Math.max(one.y, one.next) }]);
  const controls = drawControls(chart, x, y, frame, points.map((one) => ({ left: one.x - 7, right: one.x + 7, top: one.y - 7, bottom: one.y + 7 })));
  for (const point of points) {
    point.name = written([0, 0], point.words, { class: point.row.on_front ? "name first" : "name" });
    chart.append(point.name);
    point.width = point.name.getComputedTextLength() + 4;
    point.far = point.row.on_front ? FARTHER : width < NARROW ? [] : FAR;
  }
  const named = [...points].sort((a, b) => b.row.on_front - a.row.on_front);
  const found = placeNames(named, { left: frame.left, right: width, top: 16, bottom: frame.bottom }, controls.names, [...soft, ...controls.lines]);
  named.forEach(({ name }, i) => {
    if (!found[i]) return name.remove();
    const { at, anchor, lead } = found[i];
    for (const [key, value] of [["x", at[0].toFixed(1)], ["y", at[1].toFixed(1)], ["text-anchor", anchor]]) name.setAttribute(key, value);
    const end = lead[lead.length - 1];
    if (end) chart.append(svg("path", { class: "lead", d: `M${named[i].x.toFixed(1)} ${named[i].y.toFixed(1)}L${end.left.toFixed(1)} ${end.top.toFixed(1)}` }));
  });
  chart.append(...points.map(dotOf));
  const unnamed = found.filter((one) => one === null).length;
  document.getElementById("front-said").textContent = unnamed ? word("front_unnamed", { n: unnamed }) : "";
}

function startFront() {
  const place = document.getElementById("front");
  if (!place) return;
  let width = 0;
  new ResizeObserver(() => {
    if (place.clientWidth !== width) drawFront();
    width = place.clientWidth;
  }).observe(place);
}
