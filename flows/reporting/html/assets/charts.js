// Charts: Vega-Lite draws what the specifications of the page say, over rows that are picked here and computed nowhere.

const MOST_LINES = 6;
const FEWEST_SESSIONS = 5;
const FEWEST_FACTS = 20;
let pairs = null;
const drawn = new Map();

const isBelow = (p) => p !== null && p < data.level;
const showP = (p) => (p === null ? missing : p < 0.001 ? "< 0.001" : fixed(p, 3));

/** Rows of paired differences of all wanted methods to one of them, turned so that each is method less reference. */
function differences() {
  const reference = methods.indexOf(document.getElementById("reference").value);
  const dimension = document.getElementById("dimension").value;
  const wanted = new Set(wantedMethods());
  const rows = [];
  for (let i = 0; pairs && i < pairs.a.length; i++) {
    if (pairs.dimension[i] !== dimension || (pairs.a[i] !== reference && pairs.b[i] !== reference)) continue;
    const turned = pairs.a[i] === reference;
    const place = turned ? pairs.b[i] : pairs.a[i];
    const [low, high] = [pairs.ci_low[i], pairs.ci_high[i]];
    rows.push({
      place, method: methods[place],
      difference: turned ? -pairs.difference[i] : pairs.difference[i],
      ci_low: turned && high !== null ? -high : low, ci_high: turned && low !== null ? -low : high,
      p_in_dimension: pairs.p_adjusted_in_dimension[i], p_adjusted: pairs.p_adjusted[i], n_pairs: pairs.n_pairs[i], n_sessions: pairs.n_sessions[i],
      detectable_difference: pairs.detectable_difference[i],
      verdict: data.verdicts[isBelow(pairs.p_adjusted_in_dimension[i]) ? 0 : 1],
    });
  }
  return rows.filter((row) => wanted.has(row.method)).sort((a, b) => a.place - b.place);
}

function lines() {
  const filtered = wantedMethods();
  const first = filtered.filter((name) => !data.board[methods.indexOf(name)].is_control);
  return new Set((first.length ? first : filtered).slice(0, MOST_LINES));
}

/** Data set → its rows, by what is chosen on the page. */
function dataSets() {
  const wanted = new Set(wantedMethods());
  const picked = (rows) => rows.filter((row) => wanted.has(row.method));
  const shown = lines();
  const split = document.getElementById("split").value;
  const task = picked(data.board).flatMap((row) =>
    ["context_tokens", "refetch_tokens"].map((name, place) => ({
      method: row.method, part: data.parts[place], tokens: row[name], place,
    })),
  );
  return {
    task: task.filter((row) => row.tokens !== null), dimensions: picked(data.dimensions),
    sweeps: picked(data.sweeps), forest: differences(), split: picked(data.splits).filter((row) => row.split === split),
    change: data.forgetting.filter((row) => shown.has(row.method) && row.change !== null && row.n_compared >= FEWEST_SESSIONS),
    facts: data.forgetting.filter((row) => shown.has(row.method) && row.facts_stated !== null && row.n_facts >= FEWEST_FACTS),
  };
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

/** The specification with the theme's colours in place of their names. */
function painted(value, colour) {
  if (typeof value === "string") return value.startsWith("@") ? colour(value.slice(1)) : value;
  if (Array.isArray(value)) return value.map((item) => painted(item, colour));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, painted(item, colour)]));
  }
  return value;
}

function config(colour) {
  const text = { labelColor: colour("ink"), titleColor: colour("muted"), labelFontSize: 11, titleFontWeight: "normal" };
  return {
    background: null, font: "system-ui, sans-serif", view: { stroke: null },
    axis: { ...text, gridColor: colour("line"), domainColor: colour("line"), tickColor: colour("line") },
    legend: { ...text, symbolOpacity: 1 },
  };
}

function tip(handler, event, item, value) {
  document.getElementById("tip")?.remove();
  if (!value || typeof value !== "object") return;
  const rows = Object.entries(value).filter(([, shown]) => !["null", "NaN", "undefined"].includes(String(shown)));
  const box = el("div", { id: "tip", role: "tooltip" });
  box.append(el("dl", {}, rows.flatMap(([name, shown]) => [el("dt", {}, name), el("dd", {}, bdi(String(shown)))])));
  document.body.append(box);
  const { clientX: x, clientY: y } = event;
  box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.offsetWidth - 8))}px`;
  box.style.top = `${Math.max(4, y + 18 + box.offsetHeight > innerHeight ? y - box.offsetHeight - 10 : y + 14)}px`;
}

const NARROW = 520;

/** On a phone the names of methods leave room for the figures, columns stand upright, and points have no names. */
function narrowed(spec) {
  const { x, y, color } = spec.encoding;
  if (color?.legend) color.legend = { ...color.legend, columns: 1 };
  if (y?.axis) y.axis = { ...y.axis, labelLimit: 104, labelFontSize: 10 };
  if (x?.axis?.orient === "top") x.axis = { ...x.axis, labelAngle: -50, labelAlign: "left", labelFontSize: 10 };
  if (x?.axis?.orient === "top") spec.padding = { left: 2, top: 2, right: 44, bottom: 2 };  // for the end of the last head
  for (const layer of spec.layer ?? []) {
    if (layer.mark.type === "text") layer.mark = { ...layer.mark, fontSize: x?.axis?.orient ? 8 : 0 };
  }
  return spec;
}

async function draw(place) {
  const id = place.dataset.chart;
  const colour = colours();
  const datasets = dataSets();
  const spec = { ...painted(data.charts[id], colour), datasets, config: config(colour) };
  if (spec.encoding.y?.field === "method") spec.encoding.y.sort = methods;  // also where a row has no interval
  if (place.clientWidth < NARROW) narrowed(spec);
  if (spec.height.step) {  // a height that fits the rows; Vega-Lite's own steps do not go with a width that fits the page
    spec.height = spec.height.step * Math.max(1, new Set(datasets[spec.data.name].map((row) => row.method)).size);
  }
  drawn.get(id)?.finalize();
  drawn.delete(id);
  place.dataset.drawn = "yes";
  if (!datasets[spec.data.name].length) {  // without rows there are no scales
    place.replaceChildren(el("p", { class: "note" }, word("no_rows")));
    return;
  }
  const result = await vegaEmbed(place, spec, {
    mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip: tip, logLevel: 1,
  });
  drawn.set(id, result);
}

function drawAgain(...ids) {
  if (!ids.length) drawFront();
  for (const place of document.querySelectorAll("[data-chart][data-drawn]")) {
    if (!ids.length || ids.includes(place.dataset.chart)) draw(place);
  }
}

function fillTable(id, rows, cells) {
  const table = document.getElementById(id), head = table.querySelector("th[aria-sort]");
  table.tBodies[0].replaceChildren(
    ...rows.map((row) => el("tr", {}, el("th", { scope: "row" }, el("a", { href: link(row.method) }, methodName(row.method))), cells(row))),
  );
  if (head) sortBy(head, head.getAttribute("aria-sort"));
}

/** The tables whose rows follow what is chosen. */
function fillTables() {
  const sets = dataSets();
  fillTable("t-pairs", sets.forest, (row) => [
    cell(row.difference, signed(row.difference)), cell(row.ci_low, signed(row.ci_low)),
    cell(row.ci_high, signed(row.ci_high)),
    cell(row.p_in_dimension, showP(row.p_in_dimension)), cell(row.p_adjusted, showP(row.p_adjusted)),
    cell(row.n_pairs, whole(row.n_pairs)), cell(row.n_sessions, whole(row.n_sessions)),
    cell(row.detectable_difference, fixed(row.detectable_difference)),
  ]);
  fillTable("t-split", sets.split, (row) => [
    el("td", {}, bdi(row.label)), cell(row.mean, fixed(row.mean)), cell(row.ci_low, fixed(row.ci_low)),
    cell(row.ci_high, fixed(row.ci_high)), cell(row.n_answers, whole(row.n_answers)), cell(row.n_sessions, whole(row.n_sessions)),
  ]);
  const said = document.getElementById("forgetting-said");
  said.replaceChildren(
    sets.change.length || sets.facts.length ? word("lines_of", { names: [...lines()].join(", ") }) : "",
    sets.change.length ? "" : " " + word("no_cycles"),
  );
}

function loadScript(address) {
  return new Promise((done) => {
    const script = el("script", { src: address });
    script.addEventListener("load", done);
    script.addEventListener("error", done);  // the tables say the same
    document.head.append(script);
  });
}

async function startCharts() {
  const reference = document.getElementById("reference");
  reference.replaceChildren(...methods.map((name) => el("option", {}, name)));
  reference.value = methods[Math.max(0, data.board.findIndex((row) => !row.is_control))];
  startChoices();
  pairs = await unpack("pairs");
  fillTables();
  for (const [id, chart] of [["reference", "forest"], ["dimension", "forest"], ["split", "split"]]) {
    document.getElementById(id).addEventListener("change", () => (fillTables(), drawAgain(chart)));
  }
  if (data.is_live && data.has_charts) await loadScript("charts.js");
  if (typeof vegaEmbed === "undefined") return;
  const places = [...document.querySelectorAll("[data-chart]")];
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        near.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: "400px" });
  places.forEach((place) => near.observe(place));
  addEventListener("beforeprint", () => places.forEach((place) => place.dataset.drawn || draw(place)));
}
