// Method → session → point → question, by links of the form #/METHOD/SESSION/POINT/QUESTION.

const report = document.getElementById("report");
const drill = document.getElementById("drill");
const pages = {};  // views with a name of their own: #NAME/…; the other scripts add theirs
let onKey = null;  // what the keys do in the view that is shown
let beside = null;  // the method that answers are held against, where the reader chose one

function best(except) {
  return data.board.findIndex((row, place) => !row.is_control && place !== except);
}

function crumbs(parts) {
  const links = parts.slice(0, -1).map((part, i) => el("a", { href: link(...parts.slice(0, i + 1).map((p) => p.key)) }, bdi(part.name)));
  return el("p", { class: "crumbs" }, el("a", { href: "#answers", id: "back" }, word("back")), " ", links.flatMap((a) => [a, " "]),
    parts.length ? bdi(parts[parts.length - 1].name) : null);
}

function heading(...children) {
  return el("h1", { id: "h-drill", tabindex: "-1" }, ...children);
}

function tableOf(caption, heads, rows) {
  const head = heads.map(([text, kind]) => el("th", { scope: "col", class: kind }, el("button", { type: "button", "data-sort": kind }, text)));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: "sortable" }, el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
}

/** A method's sessions with its mean and another's: those of the page, or those that the server finds. */
async function sessionsOf(place, other, find) {
  if (data.is_live) {
    const found = await ask("sessions", { method: methods[place], other: methods[other] ?? "", find });
    return { n: found.n_sessions, shown: found.sessions.map((session) => ({ ...session, here: true, held: session.other_mean })) };
  }
  const meanOf = (session, which) => session.means.find(([method]) => method === which)?.[1] ?? null;
  const shown = data.sessions
    .map((session) => ({ ...session, here: session.here.length > 0, mean: meanOf(session, place), held: meanOf(session, other) }))
    .filter((session) => session.mean !== null || session.here);
  return { n: shown.length, shown };
}

function sessionsTable(name, other, { n, shown }) {
  const rows = shown.map((session) => {
    const { mean, held } = session;
    const title = session.here ? el("a", { href: link(name, session.id) }, bdi(session.title)) : bdi(session.title);
    return el("tr", {}, el("th", { scope: "row" }, title, session.here ? null : [" ", el("small", {}, word("not_here"))]),
      el("td", {}, bdi(session.format)), el("td", {}, bdi(session.work)), cell(session.n_points, whole(session.n_points)),
      cell(mean, fixed(mean)), cell(held, fixed(held)));
  });
  const heads = [[word("session"), "s"], [word("format"), "s"], [word("work"), "s"], [word("points"), "n"], [word("its_mean"), "n"],
    [other < 0 ? missing : methods[other], "n"]];
  const caption = word("sessions_of", { method: name }) + (n > rows.length ? ` · ${word("first_of", { shown: whole(rows.length), n: whole(n) })}` : "");
  return tableOf(caption, heads, rows);
}

async function methodView(place) {
  const name = methods[place], other = best(place);
  const table = sessionsTable(name, other, await sessionsOf(place, other, ""));
  if (!data.is_live) return [crumbs([{ key: name, name }]), heading(methodName(name)), table];
  const found = el("div", {}, table), field = el("input", { type: "search", id: "find", autocomplete: "off" });
  field.addEventListener("change", async () => found.replaceChildren(sessionsTable(name, other, await sessionsOf(place, other, field.value))));
  return [crumbs([{ key: name, name }]), heading(methodName(name)),
    el("p", { class: "controls" }, el("label", {}, word("find_session"), " ", field)), found];
}

function sessionView(place, session, pack) {
  const name = methods[place];
  const points = pack.points.slice().sort((a, b) => a.cycle - b.cycle).map((point) => {
    const rows = point.probes.map((probe) => {
      const scores = Object.values(probe.answers).map((answer) => answer[2]).filter((score) => score !== null);
      const mine = probe.answers[place]?.[2] ?? null;
      const [question] = [pack.texts[probe.question]].flat();
      return el("tr", {}, el("td", {}, word(`probe_${probe.type}`)),
        el("td", { class: "text" }, el("a", { href: link(name, session.id, point.cycle, probe.key) }, bdi(beginning(question)))),
        cell(mine, fixed(mine)), cell(scores.length ? Math.max(...scores) : null, scores.length ? fixed(Math.max(...scores)) : missing),
        cell(scores.length ? Math.min(...scores) : null, scores.length ? fixed(Math.min(...scores)) : missing));
    });
    const heads = [[word("asks"), "s"], [word("probe"), "s"], [name, "n"], [word("best_of"), "n"], [word("lowest_of"), "n"]];
    return [el("h2", {}, el("a", { href: link(name, session.id, point.cycle) }, word("point", { n: point.cycle }))),
      tableOf(word("point", { n: point.cycle }), heads, rows)];
  });
  return [crumbs([{ key: name, name }, { key: session.id, name: session.title }]), heading(bdi(session.title)),
    el("p", { class: "controls" }, el("a", { class: "button", href: timelineLink(session.id, name) }, word("timeline"))),
    points.length < session.n_points ? el("p", { class: "note" }, word("points_here", { shown: whole(points.length), n: whole(session.n_points) })) : "",
    ...points.flat()];
}

function answerBody(pack, answer, left) {
  if (!answer) {
    const why = left && left.error !== null ? [pack.texts[left.error]].flat()[0] : missing;
    return el("p", {}, word(left?.status === "not_applicable" ? "not_applicable" : "no_answer", { why }));
  }
  const [status, text, , fetched, error] = answer;
  if (status !== "done") return el("div", {}, el("p", {}, word("failed", { why: "" })), said(pack, error));
  return el("div", {}, said(pack, text) ?? el("p", {}, missing), fetched ? el("p", { class: "note" }, word("fetched", { n: whole(fetched) })) : null);
}

const scoreOf = (answer) => (answer && answer[2] !== null ? fixed(answer[2]) : answer ? word("unscored") : missing);

function reasonsTable(pack, probe, places) {
  const criteria = [...new Set(places.flatMap((place) => (probe.answers[place]?.[5] ?? []).map(([criterion]) => criterion)))];
  const rows = criteria.map((criterion) => el("tr", {},
    el("th", { scope: "row" }, el("code", { title: data.criteria[criterion] ?? null }, criterion)),
    places.map((place) => {
      const found = (probe.answers[place]?.[5] ?? []).find(([other]) => other === criterion);
      return [cell(found?.[1] ?? null, found ? (found[1] === null ? word("unscored") : fixed(found[1])) : missing),
        el("td", { class: "text" }, found ? said(pack, found[2]) ?? "" : "")];
    })));
  const heads = [[word("criterion"), "s"], ...places.flatMap((place) => [[word("score"), "n"], [methods[place], "s"]])];
  return tableOf(word("reasons"), heads, rows);
}

/** What each context tells of every statement of the truth. */
function statementsTable(pack, probe, places) {
  const rows = probe.statements.map(([text], n) => el("tr", {}, el("td", { class: "text" }, said(pack, text)),
    places.map((place) => {
      const [state, support, lines] = probe.answers[place]?.[6]?.[n] ?? [];
      const told = support == null ? "" : ` ${fixed(support)}`;
      return [cell(support ?? null, state ? el("span", { class: `state ${state}` }, word(state), told) : missing),
        el("td", { class: "text" }, said(pack, lines ?? null) ?? "")];
    })));
  const heads = [[word("statement"), "s"], ...places.flatMap((place) => [[word("state"), "n"], [methods[place], "s"]])];
  return el("section", { id: "statements" }, el("h3", {}, word("statements")), tableOf(word("statements"), heads, rows));
}

/** The messages that prove the truth, and what became of each: usually why an answer is right or wrong. */
function evidencePart(pack, point, probe, places) {
  const quotes = new Map();
  for (const [seq, quote] of probe.evidence) quotes.set(seq, [...(quotes.get(seq) ?? []), quote]);
  return [...quotes].map(([seq, found]) => el("div", { class: "evidence" },
    el("p", { class: "note" }, `${word("evidence")}: ${word("message_n", { n: seq })} · `, places.flatMap((place, i) => {
      const left = point.methods[place];
      const fate = left?.context ? fateOf(left, seq) : null;
      return fate === null ? [] : [i ? " · " : "", bdi(methods[place]), ": ", el("span", { class: `fate ${fate}` }, word(fate))];
    })), found.map((quote) => said(pack, quote, "code"))));
}

function allAnswers(pack, point, probe, session) {
  const rows = methods.map((name, place) => {
    const answer = probe.answers[place];
    if (!answer && !point.methods[place]) return null;
    return el("tr", { "data-method": name }, el("th", { scope: "row" }, el("a", { href: link(name, session.id, point.cycle, probe.key) }, methodName(name))),
      cell(answer?.[2] ?? null, scoreOf(answer)), el("td", { class: "text" }, answerBody(pack, answer, point.methods[place])));
  });
  const heads = [[word("method"), "s"], [word("score"), "n"], [word("answer"), "s"]];
  return el("section", { id: "all-answers" }, el("h3", {}, word("all_answers")), tableOf(word("all_answers"), heads, rows));
}

/** A method, and the one that its answers are held against. */
function withHeld(place) {
  const held = beside !== null && beside !== place ? beside : best(place);
  return held < 0 ? [place] : [place, held];
}

function probeView(place, session, pack, point, probe) {
  const name = methods[place], places = withHeld(place);
  const proofs = new Set(probe.evidence.map(([seq]) => seq));
  const tabs = el("ul", { class: "tabs" }, point.probes.map((other) => el("li", {}, el("a", {
    href: link(name, session.id, point.cycle, other.key), "aria-current": other === probe ? "page" : null,
  }, word(`probe_${other.type}`), ` ${scoreOf(other.answers[place])}`))));
  const choose = el("select", { id: "beside" }, methods.map((other, i) => (i === place ? null : el("option", { value: i }, other))));
  choose.value = String(places[1] ?? -1);
  choose.addEventListener("change", () => ((beside = Number(choose.value)), route()));
  const cards = places.map((which) => el("article", { class: "card answer" },
    el("h3", {}, ...inText("answer_of", { method: bdi(methods[which]) }), ` · ${scoreOf(probe.answers[which])}`),
    answerBody(pack, probe.answers[which], point.methods[which])));
  return [
    crumbs([{ key: name, name }, { key: session.id, name: session.title }, { key: point.cycle, name: word("point", { n: point.cycle }) },
      { key: probe.key, name: word(`probe_${probe.type}`) }]),
    heading(word(`probe_${probe.type}`), " · ", methodName(name)), tabs,
    el("article", { class: "card question" }, el("h3", {}, word("probe")), said(pack, probe.question)),
    el("article", { class: "card truth" }, el("h3", {}, word("truth")), said(pack, probe.truth),
      evidencePart(pack, point, probe, places)),
    el("p", { class: "controls" }, el("label", {}, word("compare_with"), " ", choose),
      el("a", { class: "button", href: besideLink({ session: session.id, cycle: point.cycle, mode: "all", key: probe.key, places }) }, word("beside"))),
    el("div", { class: "two" }, cards), statementsTable(pack, probe, places), el("h3", {}, word("reasons")), reasonsTable(pack, probe, places),
    contextPart(pack, point, point.methods[place], name, proofs), allAnswers(pack, point, probe, session),
  ];
}

/** A session's pack: of the page, or of the server, which gives one point alone, with the contexts of these methods. */
function packOf(session, cycle, places) {
  if (!data.is_live) return unpack(session);
  return cycle === undefined ? ask("session", { session }) : ask("point", { session, cycle, contexts: places.join(".") });
}

async function viewOf([method, sessionId, cycle, key]) {
  const place = methods.indexOf(method);
  if (place < 0) return [crumbs([]), heading(word("nothing"))];
  if (sessionId === undefined) return methodView(place);
  const pack = await packOf(sessionId, cycle, withHeld(place));
  const session = pack?.session ?? data.sessions.find((one) => one.id === sessionId);
  if (!pack || !session) return [crumbs([{ key: method, name: method }]), heading(word("nothing"))];
  if (cycle === undefined) return sessionView(place, session, pack);
  const point = pack.points.find((one) => String(one.cycle) === cycle);
  const probe = key === undefined ? point?.probes[0] : point?.probes.find((one) => one.key === key);
  if (!probe) return [crumbs([{ key: method, name: method }]), heading(word("nothing"))];
  return probeView(place, session, pack, point, probe);
}

let visit = 0;

/** Show what the address names: a part of the report, or a view of single answers in its place. */
async function route() {
  const mine = ++visit;
  document.body.ariaBusy = "true";
  onKey = null;
  const [name, ...rest] = location.hash.slice(1).split("/");
  const page = pages[name];
  const isDrill = location.hash.startsWith("#/") || page !== undefined;
  let parts = [];
  try {
    parts = (page || isDrill ? rest.filter(Boolean) : []).map(decodeURIComponent);
  } catch {
    parts = [""];  // an address that was cut
  }
  if (!isDrill) {
    document.body.ariaBusy = "false";
    report.hidden = false;
    drill.hidden = true;
    if (drill.childElementCount) {
      drill.replaceChildren();
      (document.getElementById(location.hash.slice(1).split("?")[0]) ?? report).scrollIntoView();
    }
    return;
  }
  let view;
  try {
    view = await (page ?? viewOf)(parts);
  } catch (error) {
    view = [crumbs([]), heading(word("broken", { why: String(error.message) }))];
  }
  if (mine !== visit) return;
  document.body.ariaBusy = "false";
  drill.replaceChildren(...view);
  report.hidden = true;
  drill.hidden = false;
  scrollTo(0, 0);
  drill.querySelector("h1")?.focus({ preventScroll: true });
}
