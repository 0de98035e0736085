"""Four questions a point, each with a true answer found in the history and quoted from it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from compaction.points import LOOKAHEAD, CompactionPoint
from compaction.reading.file_effects import FileOp, same_file
from compaction.reading.file_paths import Roots
from compaction.reading.message_facts import project_ops, read_message
from compaction.reading.prose import shorten, terms
from compaction.tokens import counted_text
from compaction.transcript import Message, Transcript
from judge.embedded.facts import MAX_TERMS, FactCandidate, SessionFacts, make_fact
from judge.probe import Evidence, Fact, FactKind, NotAsked, Probe, ProbeType

MAX_QUOTE = 300
MAX_EVIDENCE = 12

RECALL_TOKENS, ARTIFACT_TOKENS, CONTINUATION_TOKENS, DECISION_TOKENS = 100, 900, 350, 160
"""Limits of the answers, stated in the questions."""

ARTIFACT_QUESTION = (
    "{place}Which files of the project have been created so far, which existing ones were modified and what was "
    "changed in each, and which were examined without being changed? Answer in three lines that begin with "
    "`Created:`, `Modified:` and `Examined:`, files separated by `; ` and changes in parentheses, or `none`; at most "
    "{limit} tokens."
)
CONTINUATION_QUESTION = (
    "{place}What is to be done next? Name the tasks that are still open, the tests that still fail and why, and what "
    "the work is about to go on with. Answer in three lines that begin with `Open:`, `Failing:` and `Next:`, items "
    "separated by `; `, or `none`; at most {limit} tokens."
)
DECISION_QUESTION = (
    "What was decided or found out concerning `{topic}`, and for what reason? Answer in at most two sentences and "
    "{limit} tokens."
)
VERSION = 1
"""Raise it when other probes are asked, or their truth is another."""

RECALL_QUESTIONS = {
    "error": "Which error message did the command `{cue}` give the first time that it failed?",
    "reported": "Which error message did the person report at the start?",
    "command": "What was the exact command line when `{cue}` was first run?",
    "version": "Which version of `{cue}` did the session find?",
    "request": "What did the person ask for or say concerning `{cue}`?",
}
RECALL_FORM = " Answer on one line, with nothing else; at most {limit} tokens."

RECALL_PREFERENCE = ("error", "error", "error", "command", "version", "version", "request", "request")
"""Kinds of recall facts by how often they are asked where a session has all of them."""


class EmbeddedProber:
    """Takes facts from tool calls, tool output and the speakers' own words; asks only what it can prove."""

    name = f"embedded-prober@{VERSION}"

    def __init__(self) -> None:
        self._session: SessionFacts | None = None

    def probes(self, transcript: Transcript, point: CompactionPoint) -> Sequence[Probe | NotAsked]:
        """One entry for each probe type, the same whenever it is asked."""
        if self._session is None or self._session.transcript is not transcript:
            self._session = SessionFacts(transcript)
        facts = self._session
        return (
            self._recall(facts, point),
            self._artifact(facts, point),
            self._continuation(facts, point),
            self._decision(facts, point),
        )

    def _recall(self, facts: SessionFacts, point: CompactionPoint) -> Probe | NotAsked:
        known = [c for c in facts.recall if c.seq < point.cut_seq]
        kinds = {c.kind for c in known}
        wheel = [kind for kind in RECALL_PREFERENCE if kind in kinds]
        if not wheel:
            return NotAsked("recall", "no error, command, version or request in the history can be asked for")
        kind = wheel[_draw(point, "kind") % len(wheel)]
        chosen = _at_random_place([c for c in known if c.kind == kind], point)
        form = "reported" if kind == "error" and not chosen.cue else kind
        question = (RECALL_QUESTIONS[form] + RECALL_FORM).format(cue=chosen.cue, limit=RECALL_TOKENS)
        return _single(facts, "recall", question, chosen, RECALL_TOKENS)

    def _decision(self, facts: SessionFacts, point: CompactionPoint) -> Probe | NotAsked:
        known = [c for c in facts.decisions if c.seq < point.cut_seq]
        if not known:
            return NotAsked("decision", "nobody states a decision with its reason in the history")
        chosen = _at_random_place(known, point)
        question = DECISION_QUESTION.format(topic=chosen.cue, limit=DECISION_TOKENS)
        return _single(facts, "decision", question, chosen, DECISION_TOKENS)

    def _artifact(self, facts: SessionFacts, point: CompactionPoint) -> Probe | NotAsked:
        ledger = facts.ledger(point.cut_seq)
        groups: tuple[tuple[FactKind, str, dict[str, FileOp]], ...] = (
            ("file_created", "Created", ledger.created),
            ("file_modified", "Modified", ledger.modified),
            ("file_examined", "Examined", ledger.examined),
        )
        project = {op.path for op in project_ops([op for _, _, ops in groups for op in ops.values()])}
        found: list[Fact] = []
        lines = []
        for kind, label, ops in groups:
            own = [op for op in ops.values() if op.path in project]
            found += (
                Fact(kind, op.path, (op.path.lower(),), _details(op) if kind != "file_examined" else (), (op.seq,))
                for op in own
            )
            lines.append(f"{label}: {'; '.join(_statement(op, kind) for op in own) or 'none'}")
        if not found:
            return NotAsked("artifact", "no tool call in the history touches a file of the project")
        evidence = tuple(
            Evidence(fact.seqs[0], quote)
            for fact in _spread(found, MAX_EVIDENCE)
            if (quote := _quoted_path(facts.messages[fact.seqs[0]], fact.value))
        )
        question = ARTIFACT_QUESTION.format(place=place_of(facts.roots), limit=ARTIFACT_TOKENS)
        return Probe("artifact", question, "\n".join(lines), tuple(found), evidence, ARTIFACT_TOKENS)

    def _continuation(self, facts: SessionFacts, point: CompactionPoint) -> Probe | NotAsked:
        cut = point.cut_seq
        found: list[tuple[Fact, Evidence]] = []
        todo = facts.todos(cut)
        for item in todo.items if todo else ():
            source = facts.messages[todo.seq if todo else 0]
            fact = make_fact("open_task", item.text, source) if item.status != "done" else None
            if fact is not None:
                found.append((fact, Evidence(source.seq or 0, _verbatim(source, item.text))))
        failing = facts.failing(cut)
        for test, reason in (failing[1] if failing else [])[:10]:
            seq = failing[0] if failing else 0
            fact = Fact(
                "failing_test",
                shorten(f"{test}: {reason}" if reason else test, 300),
                terms(test)[:4],
                terms(reason)[:MAX_TERMS],
                (seq,),
            )
            if fact.terms:
                found.append((fact, Evidence(seq, _verbatim(facts.messages[seq], test))))
        found += self._announced(facts, cut)
        found += self._next_steps(facts, cut)
        request = facts.request(cut)
        if request is not None:
            said = [s for s in read_message(request).sentences if len(terms(s)) >= 3]
            fact = make_fact("request", said[0], request) if said else None
            if fact is not None:
                found.append((fact, Evidence(request.seq or 0, _verbatim(request, said[0]))))
        if not any(fact.kind != "request" for fact, _ in found):
            return NotAsked("continuation", "no open task, failing test or further step of the session is known")
        kinds = (("Open", ("open_task",)), ("Failing", ("failing_test",)), ("Next", ("next_step", "request")))
        lines = [
            f"{label}: {'; '.join(fact.value for fact, _ in found if fact.kind in wanted) or 'none'}"
            for label, wanted in kinds
        ]
        question = CONTINUATION_QUESTION.format(place=place_of(facts.roots), limit=CONTINUATION_TOKENS)
        return Probe(
            "continuation",
            question,
            "\n".join(lines),
            tuple(fact for fact, _ in found),
            tuple(evidence for _, evidence in found if evidence.quote)[:MAX_EVIDENCE],
            CONTINUATION_TOKENS,
        )

    def _announced(self, facts: SessionFacts, cut: int) -> list[tuple[Fact, Evidence]]:
        """What the agent said it would do, in its last words before the cut."""
        for message in reversed(facts.messages[:cut]):
            said = read_message(message).intents if message.role == "assistant" else []
            if said:
                fact = make_fact("next_step", said[-1], message)
                return [(fact, Evidence(message.seq or 0, _verbatim(message, said[-1])))] if fact else []
        return []

    def _next_steps(self, facts: SessionFacts, cut: int) -> list[tuple[Fact, Evidence]]:
        """Files that the session changed right after the cut and that the history already speaks of."""
        steps: list[tuple[Fact, Evidence]] = []
        for seq in range(cut, min(cut + LOOKAHEAD, len(facts.messages))):
            for op in facts.ops.get(seq, ()):
                name = op.path.rsplit("/", 1)[-1]
                if op.verb == "examined" or op.scratch or any(same_file(op.path.lower(), f.terms[0]) for f, _ in steps):
                    continue
                last = next((m for m in reversed(facts.messages[:cut]) if name in counted_text(m)), None)
                if last is not None:
                    spoken_of = last.seq or 0
                    fact = Fact("next_step", f"work on {op.path}", (op.path.lower(),), (), (spoken_of,))
                    steps.append((fact, Evidence(spoken_of, name)))
        return steps[:3]


def place_of(roots: Roots) -> str:
    """Where the project lies, as an agent's environment would tell it; empty when it is not known."""
    places = list(dict.fromkeys(filter(None, (roots.cwd, *roots.directories))))[:4]
    if not places:
        return ""
    return f"The working directory is `{places[0]}`; the project lies in {', '.join(f'`{p}`' for p in places)}. "


def _single(facts: SessionFacts, probe_type: ProbeType, question: str, chosen: FactCandidate, limit: int) -> Probe:
    source = facts.messages[chosen.seq]
    truth = shorten(chosen.quote, 600)
    evidence = (Evidence(chosen.seq, _verbatim(source, chosen.quote)),)
    return Probe(probe_type, question, truth, chosen.facts, evidence, limit)


def _draw(point: CompactionPoint, purpose: str) -> int:
    """A number that depends on the point alone."""
    seed = f"{point.session_id}|{point.cut_seq}|{purpose}".encode()
    return int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest(), "big")


def _at_random_place(candidates: Sequence[FactCandidate], point: CompactionPoint) -> FactCandidate:
    """The candidate nearest to a place drawn evenly from the history, so that no part of it is favoured."""
    place = _draw(point, "place") % max(point.cut_seq, 1)
    return min(candidates, key=lambda c: (abs(c.seq - place), c.seq))


def _spread(facts: Sequence[Fact], most: int) -> Sequence[Fact]:
    step = max(1, -(-len(facts) // most))
    return facts[::step]


def _details(op: FileOp) -> tuple[str, ...]:
    return tuple(detail.lower() for detail in op.details)


def _statement(op: FileOp, kind: str) -> str:
    return f"{op.path} ({', '.join(op.details)})" if op.details and kind != "file_examined" else op.path


def _verbatim(message: Message, wanted: str) -> str:
    """The wanted words if the message has them to the letter, else the longest run of them that it has."""
    text = counted_text(message)
    quote = wanted[:MAX_QUOTE]
    if quote in text:
        return quote
    words = quote.split()
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length + 1):
            if (part := " ".join(words[start : start + length])) in text:
                return part
    return ""


def _quoted_path(message: Message, path: str) -> str:
    text = counted_text(message)
    return next((form for form in (path, path.rsplit("/", 1)[-1]) if form in text), "")
