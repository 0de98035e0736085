// Grades of a person, blind to the method: #grade takes the next answer or statement, #grade/ID is one by its id.

let skipped = "";  // the one after which the next one comes

/** Send something to the server; an error has its sentence. */
async function send(name, body) {
  const answer = await fetch(`data/${name}?${new URLSearchParams({ judge: data.judge })}`,
    { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}

const gradeField = (scale) => ([id, question, anchors]) => el("fieldset", { class: "grade", "data-criterion": id }, el("legend", {}, question),
  scale.map((grade) => el("label", {}, el("input", { type: "radio", name: id, value: grade }), ` ${grade}`)),
  el("small", {}, anchors.map(([grade, text]) => `${grade}: ${text}`).join(" · ")));

const gradesOf = (fields) => Object.fromEntries(fields
  .map((field) => [field.dataset.criterion, field.querySelector("input:checked")])
  .filter(([, chosen]) => chosen).map(([id, chosen]) => [id, Number(chosen.value)]));

/** Save what was graded, and go to the next answer. */
async function saveGrades(id, fields) {
  const scores = gradesOf(fields), problem = document.getElementById("grade-problem");
  try {
    if (Object.keys(scores).length) await send("grades", { id, scores });
    else skipped = id;
  } catch (error) {
    problem.hidden = false;
    problem.textContent = error.message;
    return;
  }
  location.hash = "#grade";
}

/** Keys of the view: 0, 1 … give the marked criterion the first grade, the second …; j and k move the mark, n saves. */
function gradeKeys(fields, save) {
  let at = 0;
  const mark = (to) => {
    fields[at].classList.remove("here");
    at = Math.min(fields.length - 1, Math.max(0, to));
    fields[at].classList.add("here");
    fields[at].scrollIntoView({ block: "nearest" });
  };
  fields.forEach((field, i) => field.addEventListener("change", () => mark(i)));
  fields[0].classList.add("here");
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input:not([type=radio]), select, textarea")) return;
    if (event.key === "n") save();
    else if (event.key === "j" || event.key === "k") mark(at + (event.key === "j" ? 1 : -1));
    else if (/^[0-9]$/.test(event.key)) {
      const chosen = fields[at].querySelectorAll("input")[Number(event.key)];
      if (!chosen) return;
      chosen.checked = true;
      mark(at + 1);
    }
  };
}

const plain = (title, text) => el("article", { class: "card" }, el("h3", {}, title), el("pre", { class: "said", dir: "auto" }, text || missing));

async function gradeView([wanted = ""]) {
  const item = await ask("grade", { id: wanted, after: skipped });
  const head = [crumbs([]), heading(word("grade"))];
  if (item === null) return [...head, el("p", {}, word("nothing"))];
  if (item.id === undefined) return [...head, el("p", {}, word("grade_closed")), el("pre", { class: "said code" }, "compaction-eval view STORE --labels FILE.csv")];
  const isAnswer = item.kind === "answer";
  const handing = el("p", { class: "note", id: "graded" }, word("grade_saved", { n: whole(item.n_graded), file: item.file }), " ",
    el("code", {}, `compaction-eval calibrate ${isAnswer ? "FILE.csv --rater NAME" : "--statements FILE.csv"} --store STORE`));
  if (item.id === null) return [...head, el("p", {}, word("grade_none")), handing];
  history.replaceState(null, "", `#grade/${encodeURIComponent(item.id)}`);
  const fields = item.is_graded ? [] : item.criteria.map(gradeField(item.scale));
  const next = el("button", { type: "button", id: "grade-next" }, word("grade_next"));
  const save = () => saveGrades(item.id, fields);
  next.addEventListener("click", save);
  onKey = fields.length ? gradeKeys(fields, save) : (event) => event.key === "n" && save();
  const asked = item.is_graded ? el("p", {}, word("grade_known")) : fields;
  const problem = el("p", { id: "grade-problem", class: "banner warn", role: "alert", hidden: "" });
  const foot = [problem, el("p", { class: "controls" }, next), handing];
  if (isAnswer) return [...head, el("p", { class: "note" }, word("grade_how")), plain(word("probe"), item.question), plain(word("truth"), item.truth),
    plain(word("answer"), item.text), asked, foot].flat();
  return [...head, el("p", { class: "note" }, word("grade_statement_how")), plain(word("statement"), item.question), asked, foot,
    plain(word("evidence"), item.truth), plain(word("view_context"), item.text)].flat();
}

pages.grade = gradeView;
