// What methods lost of a question: where each statement stood, what is nearest to it, and what needed it later.
//
// "None found" is said where something was looked for; where nothing could be, "cannot be checked".

/** A message of the session, also one after the cut: a page without it has its number alone. */
function laterMessage(pack, seq) {
  const name = word("message_n", { n: seq });
  if (pack.messages[seq]) return messageBox(pack, pack.messages[seq], { seq, fate: "kept", label: "" });
  if (!data.is_live) return name;
  const box = el("details", { class: "message" }, el("summary", {}, name));
  box.addEventListener("toggle", async () => {
    if (box.childElementCount > 1) return;
    const found = await ask("message", { session: pack.session.id, seq });
    if (found && box.childElementCount === 1) box.append(messageBox(found, found.messages[0], { seq, fate: "kept", label: "" }));
  });
  return box;
}

const notFound = (isChecked) => el("span", { class: "note" }, word(isChecked ? "none_found" : "not_checked"));

function lostRow(pack, place, [text, stoodAt, neededAt, isChecked], [state, support, lines]) {
  return el("tr", {}, el("th", { scope: "row" }, methodName(methods[place])),
    el("td", {}, el("span", { class: `state ${state}` }, word(state))), el("td", { class: "text" }, said(pack, text)),
    el("td", {}, stoodAt === null ? notFound(false) : el("button", { type: "button", class: "to", "data-to": stoodAt }, word("message_n", { n: stoodAt }))),
    el("td", { class: "text" }, said(pack, lines) ?? notFound(support !== null),
      support === null ? null : el("small", {}, word("overlap", { share: fixed(support) }))),
    el("td", { class: "text" }, neededAt === null ? notFound(isChecked) : laterMessage(pack, neededAt)));
}

/** The statements that methods do not fully tell any more; of a context that was not measured nothing is known. */
function lostFacts(pack, point, probe, places) {
  const rows = probe.statements.flatMap((statement, n) => places
    .filter((place) => point.methods[place]?.context)
    .map((place) => [place, probe.answers[place]?.[6]?.[n] ?? ["not_measured", null, null]])
    .filter(([, [state]]) => state !== "readable")
    .map(([place, found]) => lostRow(pack, place, statement, found)));
  const heads = ["method", "state", "statement", "stood", "nearest", "used_later"].map((name) => [word(name), "s"]);
  return el("section", { id: "lost-facts" }, el("h3", {}, word("lost_facts")),
    rows.length ? tableOf(word("lost_facts"), heads, rows) : el("p", {}, word("lost_none")));
}
