"""Makes a probe of a draft: every part is verified, completed from the tool calls, and given its facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from compaction.reading.file_effects import FileOp, same_file
from compaction.reading.message_facts import project_ops, read_message
from compaction.reading.prose import shorten, terms
from compaction.recognition.words import shared_words
from compaction.tokens import TokenCounter
from judge.embedded.constraints import lifted_at
from judge.embedded.facts import SessionFacts
from judge.embedded.prober import (
    ARTIFACT_TOKENS,
    CONSTRAINT_TOKENS,
    CONTINUATION_TOKENS,
    DECISION_TOKENS,
    MAX_EVIDENCE,
    RECALL_FORM,
    RECALL_TOKENS,
    place_of,
)
from judge.llm.probes import check
from judge.llm.probes.check import ProbeDropped
from judge.llm.probes.reply import STATES, DraftItem, ProbeDraft, Quote
from judge.llm.probes.show import ShownHistory
from judge.probe import Evidence, Probe, ProbeType
from judge.statement import Statement, StatementKind

DECISION_FORM = " Say what was decided, for what reason and against what; at most two sentences and {limit} tokens."
ARTIFACT_FORM = (
    " Cover the whole work so far: every file of the project that was created, that existed and was modified, with "
    "what was changed in it, and that was examined without being changed. Answer in three lines that begin with "
    "`Created:`, `Modified:` and `Examined:`, files separated by `; ` and changes in parentheses, or `none`; at most "
    "{limit} tokens."
)
CONTINUATION_FORM = (
    " Name what was asked for or planned and is not finished, and the tests that still fail and why. Answer in two "
    "lines that begin with `Open:` and `Failing:`, items separated by `; `, or `none`; at most {limit} tokens."
)
CONSTRAINT_FORM = " Name every rule with its limits and exceptions; at most {limit} tokens."

MAX_CONTRADICTED = 0.5
"""Share of the model's files that may be unknown to the tool calls or of another state, and are put right; with more
the model has not understood the calls, and its question and its words on the changes are not trusted either."""

SAME_TASK = 0.6
"""Share of a task's terms by which an item of the model is about it."""

MAX_ITEMS = 10
MAX_DETAILS = 12
MAX_ITEM = 240
"""Parts of a kind in a truth on the open work, and characters of each."""

_KINDS: dict[str, tuple[StatementKind, str]] = {
    "open": ("open_task", "Open"),
    "failing": ("failing_test", "Failing"),
    "next": ("next_step", "Open"),
    "constraint": ("constraint", ""),
}
_NONE = re.compile(
    r"(?:none|nothing|no(?:ne)? (?:other|alternatives?).*|n/?a|unknown|not (?:stated|given|known).*)?\.?", re.IGNORECASE
)


@dataclass(frozen=True)
class Ground:
    """The facts and history that verify the drafts of one point."""

    facts: SessionFacts
    cut: int
    counter: TokenCounter
    methods: Collection[str]
    """Names of compaction methods, which no question may have."""
    note: Callable[[str], None]
    """Is told of everything that is left out of a probe or put right in it."""
    history: Callable[[], str]
    """``everything`` that was said before the cut; it is long, so it is made once and when it is needed."""

    def verified(self, quotes: Sequence[Quote], shown: ShownHistory) -> tuple[Evidence, ...]:
        """The quotes that stand in the shown history, each at its place."""
        found = [check.find_quote(quote, shown, self.facts.messages) for quote in quotes]
        for _ in range(found.count(None)):
            self.note("quote that does not stand in the history")
        return tuple(dict.fromkeys(evidence for evidence in found if evidence is not None))

    def said_in(self, evidence: Sequence[Evidence]) -> str:
        """All that the quoted messages say, in lower case."""
        return check.all_text([self.facts.messages[seq] for seq in dict.fromkeys(e.seq for e in evidence)])

    def unsupported(self, truth: str, evidence: Sequence[Evidence], exact: bool = False) -> str | None:
        """Return the reason why a part of the truth is not supported, or None."""
        return check.support_fault(truth, self.said_in(evidence), self.history(), exact)

    def question(self, draft: ProbeDraft) -> str:
        """The model's part of the question. Raises Dropped when it cannot be put."""
        fault = check.question_fault(draft.question, self.methods)
        if fault:
            raise ProbeDropped(fault)
        return draft.question


def _recall(draft: ProbeDraft, shown: ShownHistory, ground: Ground) -> Probe:
    item = draft.items[0]
    evidence = _evidence(item.quotes, shown, ground)
    _check_support(ground.unsupported(item.text, evidence, exact=True))
    evidence = _telling(evidence, item.text)
    question = ground.question(draft)
    kind: StatementKind = item.kind  # type: ignore[assignment]
    if kind == "request" and all(ground.facts.messages[e.seq].role != "user" for e in evidence):
        kind = "value"  # what nobody asked for says nothing of the conversation's state
    fact = check.make_statement(kind, item.text, question, evidence)
    asked = question + RECALL_FORM.format(limit=RECALL_TOKENS)
    return Probe("recall", asked, _short(item.text, RECALL_TOKENS, ground), (fact,), evidence, RECALL_TOKENS)


def _decision(draft: ProbeDraft, shown: ShownHistory, ground: Ground) -> Probe:
    evidence = _evidence([quote for item in draft.items[:1] for quote in item.quotes], shown, ground)
    said: list[DraftItem] = []
    for item in draft.items:
        if _NONE.fullmatch(item.text):
            continue
        fault = ground.unsupported(item.text, evidence)
        if fault and item.kind == "alternatives":
            ground.note("alternative that the history does not support")
        elif fault:
            raise ProbeDropped(fault)
        else:
            said.append(item)
    evidence = _telling(evidence, " ".join(item.text for item in said))
    question = ground.question(draft)
    facts, faults = [], [ProbeDropped(check.VAGUE)]
    for item in said:
        kind: StatementKind = "decision" if item.kind == "decision" else "reason"
        try:
            facts.append(check.make_statement(kind, item.text, question, evidence))
        except ProbeDropped as fault:
            faults.append(fault)
            if item.kind == "decision":
                # "Why was X chosen?" tells the decision and asks for the reason: then that has to be there.
                ground.note("decision that the question tells")
    if not any(item.kind == "decision" for item in said) or not facts or all(_is_alternative(f, said) for f in facts):
        raise faults[-1]
    labels = {"decision": "", "reason": " Reason: ", "alternatives": " Weighed against: "}
    truth = "".join(labels[item.kind] + item.text for item in said)
    asked = question + DECISION_FORM.format(limit=DECISION_TOKENS)
    return Probe("decision", asked, _short(truth, DECISION_TOKENS, ground), tuple(facts), evidence, DECISION_TOKENS)


def _is_alternative(fact: Statement, items: Sequence[DraftItem]) -> bool:
    return any(item.kind == "alternatives" and shorten(item.text, 400) == fact.text for item in items)


def _continuation(draft: ProbeDraft, shown: ShownHistory, ground: Ground) -> Probe:
    question = ground.question(draft)
    found: list[tuple[str, Statement, Evidence | None]] = [*_proven_items(draft, question, shown, ground)]
    found += _open_work(found, question, ground)
    lines = [
        f"{label}: {'; '.join(fact.text for part, fact, _ in found if _KINDS[part][1] == label) or 'none'}"
        for label in ("Open", "Failing")
    ]
    place = place_of(ground.facts.roots)
    asked = place + question + CONTINUATION_FORM.format(limit=CONTINUATION_TOKENS)
    quoted = tuple(dict.fromkeys(evidence for _, _, evidence in found if evidence is not None))
    facts = tuple(fact for _, fact, _ in found)
    return Probe("continuation", asked, "\n".join(lines), facts, quoted[:MAX_EVIDENCE], CONTINUATION_TOKENS)


def _constraint(draft: ProbeDraft, shown: ShownHistory, ground: Ground) -> Probe:
    question = ground.question(draft)
    found = _proven_items(draft, question, shown, ground)
    truth = _short("; ".join(fact.text for _, fact, _ in found), CONSTRAINT_TOKENS, ground)
    asked = question + CONSTRAINT_FORM.format(limit=CONSTRAINT_TOKENS)
    quoted = tuple(dict.fromkeys(evidence for _, _, evidence in found))
    return Probe("constraint", asked, truth, tuple(fact for _, fact, _ in found), quoted, CONSTRAINT_TOKENS)


def _proven_items(
    draft: ProbeDraft, question: str, shown: ShownHistory, ground: Ground
) -> list[tuple[str, Statement, Evidence]]:
    """(part, statement, its quote) of every item that passes. Raises Dropped where none does."""
    found: list[tuple[str, Statement, Evidence]] = []
    faults = [check.NO_QUOTE]
    for item in draft.items:
        if _NONE.fullmatch(item.text) or sum(part == item.kind for part, _, _ in found) >= MAX_ITEMS:
            continue
        text = shorten(item.text.replace(";", ","), MAX_ITEM)
        try:
            evidence = _evidence(item.quotes, shown, ground)
            _check_support(ground.unsupported(text, evidence))
            evidence = _telling(evidence, text)
            _check_current(item, text, evidence, ground)
            fact = check.make_statement(_KINDS[item.kind][0], text, question, evidence)
        except ProbeDropped as fault:
            faults.append(fault.reason)
            ground.note(f"item of a list: {fault.reason}")
            continue
        found.append((item.kind, fact, evidence[0]))
    if not found:
        raise ProbeDropped(max(faults, key=check.REASONS.index))
    return found


def _check_current(item: DraftItem, text: str, evidence: Sequence[Evidence], ground: Ground) -> None:
    """Raises Dropped for a task that is done, a failure before a run that passed, or a rule that was lifted."""
    if item.kind == "constraint" and any(
        lifted_at(ground.facts, e.quote, e.seq) in range(ground.cut) for e in evidence
    ):
        raise ProbeDropped(check.LIFTED)
    todo = ground.facts.todos(ground.cut)
    if todo is not None and item.kind == "open":
        like = [t for t in todo.items if shared_words(t.text, text) >= SAME_TASK]
        if like and all(t.status == "done" for t in like):
            raise ProbeDropped(check.CONTRADICTED)
    if item.kind == "failing" and ground.facts.failing(ground.cut) is None:
        messages = ground.facts.messages[: ground.cut]
        passed = next((m.seq for m in reversed(messages) if read_message(m).totals is not None), None)
        if passed is not None and all(e.seq < passed for e in evidence):
            raise ProbeDropped(check.CONTRADICTED)


def _open_work(
    found: Sequence[tuple[str, Statement, Evidence | None]], question: str, ground: Ground
) -> list[tuple[str, Statement, Evidence | None]]:
    """Open tasks and failing tests that the session proves and the model left out."""
    told = {kind: " ".join(fact.text for part, fact, _ in found if part == kind) for kind in _KINDS}
    added: list[tuple[str, Statement, Evidence | None]] = []
    todo, failing = ground.facts.todos(ground.cut), ground.facts.failing(ground.cut)
    # A task in progress may have been finished since the list was written; whether it was, the model has read.
    untouched = [task for task in todo.items if task.status == "open"] if todo else []
    for task in untouched[:MAX_ITEMS]:
        fact = _open_task(task.text, question, todo.seq if todo else 0)
        if fact is not None and shared_words(task.text, f"{told['open']} {told['next']}") < SAME_TASK:
            added.append(("open", fact, None))
    for test, reason in (failing[1] if failing else [])[:MAX_ITEMS]:
        if terms(test) and shared_words(test, told["failing"]) < SAME_TASK:
            value = shorten(f"{test}: {reason}" if reason else test, MAX_ITEM)
            seqs = (failing[0],) if failing else ()
            added.append(("failing", Statement("failing_test", value, seqs, exact=(test,)), None))
    for kind, _, _ in added:
        ground.note(f"{_KINDS[kind][0]} added that the model left out")
    return added


def _open_task(text: str, question: str, seq: int) -> Statement | None:
    """An open task; None where the question leaves nothing of it."""
    try:
        return check.make_statement("open_task", text, question, (Evidence(seq, text),))
    except ProbeDropped:
        return None


def _artifact(draft: ProbeDraft, shown: ShownHistory, ground: Ground) -> Probe:
    ledger = ground.facts.ledger(ground.cut)
    groups = dict(zip(STATES, (ledger.created, ledger.modified, ledger.examined), strict=True))
    files = {op.path: (state, op) for state, ops in groups.items() for op in project_ops(ops.values())}
    changes: dict[str, str] = {}
    quotes: list[Evidence] = []
    wrong = 0
    for item in draft.items:
        like = [path for path in files if same_file(path.lower(), item.path.lower())]
        path = item.path if item.path in files else like[0] if len(like) == 1 else None
        if path is None or files[path][0] != item.kind:
            wrong += 1
            ground.note("file that the tool calls do not know" if path is None else "state of a file put right")
        calls = [] if path is None else _calls_on(path, ground)
        evidence = [e for e in ground.verified(item.quotes, shown) if e.seq in calls]
        quotes += evidence
        if path is not None and evidence and path not in changes:
            changes[path] = _change(item.text, calls, ground)
    if wrong > MAX_CONTRADICTED * len(draft.items):
        raise ProbeDropped(check.CONTRADICTED)
    if not quotes:
        raise ProbeDropped(check.NO_QUOTE)
    question = ground.question(draft)
    if any(check.has_term(question.lower(), path.rsplit("/", 1)[-1].lower()) for path in files):
        raise ProbeDropped(check.GIVES_AWAY)
    facts = tuple(_file_fact(state, op, changes.get(op.path, "")) for state, op in files.values())
    lines = [
        f"{state.capitalize()}: "
        + (
            "; ".join(_statement(op, changes.get(op.path, ""), state) for s, op in files.values() if s == state)
            or "none"
        )
        for state in STATES
    ]
    asked = place_of(ground.facts.roots) + question + ARTIFACT_FORM.format(limit=ARTIFACT_TOKENS)
    proof = tuple(dict.fromkeys(quotes))[:MAX_EVIDENCE]
    return Probe("artifact", asked, "\n".join(lines), facts, proof, ARTIFACT_TOKENS)


def _calls_on(path: str, ground: Ground) -> list[int]:
    ops = ground.facts.ops.items()
    return [seq for seq, done in ops if seq < ground.cut and any(path in (op.path, op.moved_to) for op in done)]


def _change(text: str, calls: Sequence[int], ground: Ground) -> str:
    """The model's words on a change, if its names are those of the calls on this file; else nothing."""
    said = ground.said_in([Evidence(seq, "") for seq in calls])
    # Of a change in words little else than names stands in the code that makes it.
    if _NONE.fullmatch(text) or check.support_fault(text, said, ground.history(), exact=True, least=0):
        if text:
            ground.note("change of a file that its calls do not show")
        return ""
    return shorten(text.replace(";", ",").replace("(", "[").replace(")", "]"), MAX_ITEM).rstrip(".")


def _file_fact(state: str, op: FileOp, change: str) -> Statement:
    kinds: dict[str, StatementKind] = {
        "created": "file_created",
        "modified": "file_modified",
        "examined": "file_examined",
    }
    details = tuple(detail.lower() for detail in op.details) or check.session_names(change)[:MAX_DETAILS]
    return Statement(kinds[state], op.path, (op.seq,), details=details if state != "examined" else ())


def _statement(op: FileOp, change: str, state: str) -> str:
    what = change or ", ".join(op.details)
    return f"{op.path} ({what})" if what and state != "examined" else op.path


def _evidence(quotes: Sequence[Quote], shown: ShownHistory, ground: Ground) -> tuple[Evidence, ...]:
    evidence = ground.verified(quotes, shown)
    if not evidence:
        raise ProbeDropped(check.NO_QUOTE)
    return evidence


def _telling(evidence: Sequence[Evidence], truth: str) -> tuple[Evidence, ...]:
    """The quotes that speak of a truth; raises ProbeDropped if there are none."""
    telling = tuple(e for e in evidence if check.speaks_of(e.quote, truth))
    if not telling:
        raise ProbeDropped(check.NOT_IN_EVIDENCE if terms(truth) else check.VAGUE)
    return telling


def _check_support(fault: str | None) -> None:
    if fault:
        raise ProbeDropped(fault)


def _short(truth: str, limit: int, ground: Ground) -> str:
    """The truth, if an answer within the limit can state it."""
    if ground.counter.count(truth) > limit:
        raise ProbeDropped(check.TOO_LONG)
    return truth


BUILDERS: dict[ProbeType, Callable[[ProbeDraft, ShownHistory, Ground], Probe]] = {
    "recall": _recall,
    "artifact": _artifact,
    "continuation": _continuation,
    "constraint": _constraint,
    "decision": _decision,
}
"""What makes the probe of a draft, or raises ProbeDropped with the reason why there is none."""
