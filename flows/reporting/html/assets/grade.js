// Grades of a person, blind to the method: #grade takes the next answer, #grade/ANSWER is one by its id.

const GRADES = [0, 1, 2, 3, 4, 5];
let skipped = "";  // the answer after which the next one comes

/** Send something to the server; an error has its sentence. */
async function send(name, body) {
  const answer = await fetch(`data/${name}?${new URLSearchParams({ judge: data.judge })}`,
    { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}

const gradeField = ([id, question, anchors]) => el("fieldset", { class: "grade", "data-criterion": id }, el("legend", {}, question),
  GRADES.map((grade) => el("label", {}, el("input", { type: "radio", name: id, value: grade }), ` ${grade}`)),
  el("small", {}, anchors.map(([grade, text]) => `${grade}: ${text}`).join(" · ")));

const gradesOf = (fields) => Object.fromEntries(fields
  .map((field) => [field.dataset.criterion, field.querySelector("input:checked")])
  .filter(([, chosen]) => chosen).map(([id, chosen]) => [id, Number(chosen.value)]));

/** Save what was graded, and go to the next answer. */
async function saveGrades(answer, fields) {
  const scores = gradesOf(fields), problem = document.getElementById("grade-problem");
  try {
    if (Object.keys(scores).length) await send("grades", { answer, scores });
    else skipped = answer;
  } catch (error) {
    problem.hidden = false;
    problem.textContent = error.message;
    return;
  }
  location.hash = "#grade";
}

/** Keys of the view: 0 to 5 grade the marked criterion, j and k move the mark, n saves. */
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
    else if (/^[0-5]$/.test(event.key)) {
      fields[at].querySelector(`[value="${event.key}"]`).checked = true;
      mark(at + 1);
    }
  };
}

const plain = (title, text) => el("article", { class: "card" }, el("h3", {}, title), el("pre", { class: "said", dir: "auto" }, text || missing));

async function gradeView([wanted = ""]) {
  const item = await ask("grade", { answer: wanted, after: skipped });
  const head = [crumbs([]), heading(word("grade"))];
  if (item === null) return [...head, el("p", {}, word("nothing"))];
  if (item.answer === undefined) return [...head, el("p", {}, word("grade_closed")), el("pre", { class: "said code" }, "compaction-eval view STORE --labels FILE.csv")];
  const handing = el("p", { class: "note", id: "graded" }, word("grade_saved", { n: whole(item.n_graded), file: item.file }), " ",
    el("code", {}, "compaction-eval calibrate FILE.csv --rater NAME --store STORE"));
  if (item.answer === null) return [...head, el("p", {}, word("grade_none")), handing];
  history.replaceState(null, "", `#grade/${encodeURIComponent(item.answer)}`);
  const fields = item.is_graded ? [] : item.criteria.map(gradeField);
  const next = el("button", { type: "button", id: "grade-next" }, word("grade_next"));
  const save = () => saveGrades(item.answer, fields);
  next.addEventListener("click", save);
  onKey = fields.length ? gradeKeys(fields, save) : (event) => event.key === "n" && save();
  return [...head, el("p", { class: "note" }, word("grade_how")), plain(word("probe"), item.question), plain(word("truth"), item.truth),
    plain(word("answer"), item.text), item.is_graded ? el("p", {}, word("grade_known")) : null, fields,
    el("p", { id: "grade-problem", class: "banner warn", role: "alert", hidden: "" }), el("p", { class: "controls" }, next), handing].flat().filter(Boolean);
}

pages.grade = gradeView;
