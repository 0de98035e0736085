// Messages, contexts and answers of a pack, as text: nothing of them is ever read as HTML.

/** A stored text: with a mark where its middle was left out. */
function said(pack, place, kind = "") {
  if (place === null || place === undefined) return null;
  const found = pack.texts[place];
  const [text, leftOut] = Array.isArray(found) ? found : [found, 0];
  return el("div", {}, el("pre", { class: `said ${kind}`, dir: "auto" }, text),
    leftOut ? el("p", { class: "cut" }, word("left_out", { n: whole(leftOut) })) : null);
}

function startOf(pack, message) {
  const [, , , , text, reasoning, calls] = message;
  const place = text ?? reasoning ?? calls[0]?.[1];
  const found = place === null || place === undefined ? "" : pack.texts[place];
  const name = text === null && reasoning === null && calls.length ? `${calls[0][0]} ` : "";
  return (name + (Array.isArray(found) ? found[0] : found)).slice(0, 160).replace(/\s+/g, " ");
}

/** A message with its pack; of a live page, whose lists have beginnings alone, in full. */
async function wholeMessage(pack, message, seq) {
  const [, , , , text, reasoning, calls] = message;
  const isCut = [text, reasoning, ...calls.map(([, content]) => content)].some((place) => Array.isArray(pack.texts[place]));
  if (!data.is_live || !isCut || pack.messages[seq] !== message) return [pack, message];
  const found = await ask("message", { session: pack.session.id, seq });
  return found ? [found, found.messages[0]] : [pack, message];
}

/** One message; its content is made when it is opened. */
function messageBox(pack, message, { seq = null, fate, label = word(fate), proof = false, other = null }) {
  const [role, tokens, tool] = message;
  const head = el("summary", {},
    el("span", { class: "fate" }, label),
    el("span", {}, `${seq === null ? "" : `#${seq} `}${word(`role_${role}`)}`, tool ? [" ", bdi(tool)] : null),
    tokens === null ? null : el("small", {}, word("n_tokens", { n: whole(tokens) })),
    proof ? el("span", { class: "badge" }, word("proof")) : null,
    el("span", { class: "start", dir: "auto" }, startOf(pack, message)),
  );
  const box = el("details", { class: `message ${fate}` }, head);
  const fill = async () => {
    if (box.childElementCount > 1) return;
    const whole = el("div", {});
    box.append(whole);
    const [full, [, , , , text, reasoning, calls]] = await wholeMessage(pack, message, seq);
    if (reasoning !== null) whole.append(el("p", { class: "note" }, word("reasoning")), said(full, reasoning));
    if (text !== null) whole.append(said(full, text, role === "tool" ? "code" : ""));
    for (const [name, content] of calls) {
      whole.append(el("p", { class: "note" }, `${word("calls")} `, bdi(name)), said(full, content, "code") ?? "");
    }
    if (other) box.append(el("p", { class: "note" }, word(other.label)), said(pack, other.message[4], "code") ?? "");
  };
  box.addEventListener("toggle", () => box.open && fill());
  if (proof && fate !== "kept") {
    fill();
    box.open = true;
  }
  return box;
}

const PIECE = 150;

/** Fill a list piece by piece: the next one is drawn when the end of the last comes into view. */
function fillInPieces(list, makers) {
  let drawn = 0;
  const more = el("button", { type: "button", class: "more" });
  const watch = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && list.drawMore());
  list.drawMore = () => {
    watch.disconnect();
    more.remove();
    if (drawn === makers.length) return false;
    const piece = makers.slice(drawn, drawn + PIECE);
    drawn += piece.length;
    list.append(...piece.flatMap((make) => make()));
    if (drawn === makers.length) return true;
    more.textContent = word("show_more", { shown: whole(drawn), n: whole(makers.length) });
    list.append(more);
    watch.observe(more);
    return true;
  };
  more.addEventListener("click", list.drawMore);
  list.drawMore();
}

const within = (stretches, seq) => stretches.some(([first, last]) => first <= seq && seq <= last);
const sizeOf = (stretches) => stretches.reduce((sum, [first, last]) => sum + last - first + 1, 0);

function fateOf(left, seq) {
  if (within(left.dropped, seq)) return "dropped";
  if (within(left.covered, seq)) return "covered";
  return within(left.edited, seq) ? "edited" : "kept";
}

/** What the method left, in the order of the context: what makes each box. */
function contextList(pack, left, proofs) {
  const boxes = [];
  for (const item of left.context) {
    if (typeof item[0] === "number") {
      for (let seq = item[0]; seq <= item[1]; seq++) {
        boxes.push(() => messageBox(pack, pack.messages[seq], { seq, fate: "kept", proof: proofs.has(seq) }));
      }
    } else {
      const [message, seq, covers] = item;
      const isEdited = seq !== null && within(left.edited, seq);
      const label = isEdited ? word("edited") : word("made", { n: sizeOf(covers) });
      boxes.push(() => messageBox(pack, message, {
        seq, fate: isEdited ? "edited" : "made", label, proof: proofs.has(seq),
        other: isEdited ? { label: "was", message: pack.messages[seq] } : null,
      }));
    }
  }
  return boxes;
}

/** The history up to the cut, each message with what became of it: what makes each box. */
function historyList(pack, point, left, proofs) {
  const became = new Map(left.context.filter((item) => typeof item[0] !== "number").map(([message, seq]) => [seq, message]));
  return pack.messages.slice(0, point.cut).map((message, seq) => () => {
    const fate = fateOf(left, seq);
    const other = fate === "edited" && became.has(seq) ? { label: "became", message: became.get(seq) } : null;
    return messageBox(pack, message, { seq, fate, proof: proofs.has(seq), other });
  });
}

function contextPart(pack, point, left, method, proofs) {
  const heading = el("h3", {}, ...inText("context", { method: bdi(method) }));
  if (!left || !left.context) {
    const why = left && left.error !== null ? said(pack, left.error) : "";
    return el("section", { class: "context" }, heading, el("p", {}, word("no_context")), why);
  }
  const edited = sizeOf(left.edited), covered = sizeOf(left.covered), dropped = sizeOf(left.dropped);
  const counts = {
    before: whole(left.before), after: whole(left.after), kept: whole(point.cut - edited - covered - dropped),
    edited: whole(edited), covered: whole(covered), dropped: whole(dropped),
  };
  const list = el("div", { class: "messages" });
  const views = { history: () => historyList(pack, point, left, proofs), context: () => contextList(pack, left, proofs) };
  const buttons = Object.keys(views).map((name) => el("button", { type: "button", "aria-pressed": "false", "data-view": name }, word(`view_${name}`)));
  const show = (name) => {
    list.replaceChildren();
    fillInPieces(list, views[name]());
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.view === name));
  };
  for (const button of buttons) button.addEventListener("click", () => show(button.dataset.view));
  show("history");
  return el("section", { class: "context" }, heading, el("p", {}, word("context_said", counts)),
    left.flags.length ? el("p", { class: "note" }, word("flags", { flags: left.flags.join(", ") })) : null,
    el("p", { class: "controls" }, buttons), list);
}

/** A text of the catalogue with nodes in it. */
function inText(key, nodes) {
  return (data.words[key] ?? key).split(/(\{\w+\})/).map((part) => nodes[part.slice(1, -1)] ?? part);
}
