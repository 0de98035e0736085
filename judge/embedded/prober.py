"""Four questions a point, each with a true answer found in the history and quoted from it.

A question is asked only if it was not asked at an earlier point of the session, if the responder answers it from the
full history, and if it does not answer it from the system prompt alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from compaction.points import CompactionPoint
from compaction.reading.file_effects import FileOp
from compaction.reading.file_paths import Roots
from compaction.reading.message_facts import project_ops
from compaction.reading.prose import shorten
from compaction.tokens import counted_text
from compaction.transcript import Message, Transcript
from judge.embedded.decisions import decisions
from judge.embedded.facts import FactCandidate, SessionFacts
from judge.embedded.open_work import open_work
from judge.embedded.recall_facts import recall_facts
from judge.measures.states import FILE_USE, ContextReader
from judge.probe import PROBE_TYPES, Evidence, NotAsked, Probe, ProbeType
from judge.statement import Statement, StatementKind

VERSION = 2
"""Raise it when other probes are asked, or their truth is another."""

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
    "{place}What is still to be done? Name what was asked for or planned and is not finished, and the tests that "
    "still fail and why. Answer in two lines that begin with `Open:` and `Failing:`, items separated by `; `, or "
    "`none`; at most {limit} tokens."
)
SUPPORT_QUESTION = (
    "What does the customer still wait for? Name what they have asked for and not yet got. Answer in one line that "
    "begins with `Open:`, items separated by `; `; at most {limit} tokens."
)
DECISION_QUESTION = (
    "Which choice was made concerning `{cue}`? Say what was chosen, and, as far as they were said, the alternative and "
    "the reason, in at most two sentences and {limit} tokens."
)
RECALL_QUESTIONS = {
    "error": "Which error message did the command `{cue}` give the first time that it failed?",
    "command": "What was the exact command line when `{cue}` was first run?",
    "version": "Which version of `{cue}` did the session find?",
    "value": "How many tests passed and how many failed when `{cue}` was first run?",
    "request": "What did the person ask for concerning `{cue}`?",
    "first request": "What did the person ask for at the beginning?",
}
RECALL_FORM = " Answer on one line, with nothing else; at most {limit} tokens."

CLOSED_BOOK, OPEN_BOOK = 0.2, 0.7
"""Shares of the truth's terms: the most that the system prompt alone may give away, and the least that the full history
must yield. 0.7 is the 3.5 of 5 that a full history must score."""

MAX_TRIES = 12
"""Candidates of one type that are tried at a point."""


class EmbeddedProber:
    """Takes facts from tool calls, tool output and the speakers' own words; asks only what it can prove."""

    name = f"embedded-prober@{VERSION}"

    def __init__(self) -> None:
        self._session: _SessionProbes | None = None

    def probes(self, transcript: Transcript, point: CompactionPoint) -> Sequence[Probe | NotAsked]:
        """One entry for each probe type, the same whenever it is asked."""
        if self._session is None or self._session.transcript is not transcript:
            self._session = _SessionProbes(transcript)
        return self._session.at(point)


@dataclass
class _Asked:
    """What the points of a session have been asked up to one of them."""

    questions: set[str] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)
    truths: dict[ProbeType, str] = field(default_factory=dict)


class _SessionProbes:
    """The probes of one session, made point after point."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.facts = SessionFacts(transcript)
        self._made: dict[tuple[int, ...], tuple[Sequence[Probe | NotAsked], _Asked]] = {(): ((), _Asked())}

    def at(self, point: CompactionPoint) -> Sequence[Probe | NotAsked]:
        """The probes of a point, after those of the session's earlier points."""
        cuts = (*point.earlier_cuts, point.cut_seq)
        for n in range(1, len(cuts) + 1):
            if cuts[:n] not in self._made:
                asked = self._made[cuts[: n - 1]][1]
                asked = _Asked(set(asked.questions), Counter(asked.kinds), dict(asked.truths))
                self._made[cuts[:n]] = [self._probe(kind, cuts[n - 1], asked) for kind in PROBE_TYPES], asked
        return self._made[cuts][0]

    def _probe(self, probe_type: ProbeType, cut: int, asked: _Asked) -> Probe | NotAsked:
        """The first question of a type that passes; else the reason why the last of them did not."""
        makers = {
            "recall": self._recalls,
            "artifact": self._artifacts,
            "continuation": self._continuations,
            "decision": self._decisions,
        }
        reason = NOTHING[probe_type]
        for n, (kind, probe) in enumerate(makers[probe_type](cut, asked)):
            if n >= MAX_TRIES:
                break
            reason = self._refusal(probe, cut, asked)
            if not reason:
                asked.questions.add(probe.question)
                asked.kinds[kind] += 1
                asked.truths[probe_type] = probe.ground_truth
                return probe
        return NotAsked(probe_type, reason)

    def _refusal(self, probe: Probe, cut: int, asked: _Asked) -> str:
        """Why a probe is not asked; empty when it is."""
        if asked.truths.get(probe.probe_type) == probe.ground_truth:
            return "nothing of it has changed since an earlier point of the session"
        history = self.facts.messages[:cut]
        system = tuple(message for message in history if message.role == "system")
        said = [one for one in probe.statements if one.kind not in FILE_USE]
        full, given = self._reader.states(said, cut, (history, system), [{}, {}])
        if said and sum(one.support or 0 for one in given) / len(said) > CLOSED_BOOK:
            return "the system prompt gives the answer away"
        if said and sum(one.support or 0 for one in full) / len(said) < OPEN_BOOK:
            return "the full history does not yield the answer"
        return ""

    def _recalls(self, cut: int, asked: _Asked) -> Iterator[tuple[str, Probe]]:
        """Candidates, those of the kinds that were asked for least first."""
        known: dict[str, list[FactCandidate]] = {}
        for candidate in self._recall_facts:
            if candidate.seq < cut:
                known.setdefault(candidate.kind, []).append(candidate)
        for kind in sorted(known, key=lambda kind: (asked.kinds[kind], self._draw(cut, kind))):
            for candidate in self._from_random_place(known[kind], cut):
                form = "first request" if kind == "request" and not candidate.cue else kind
                question = RECALL_QUESTIONS[form].format(cue=candidate.cue)
                question += RECALL_FORM.format(limit=RECALL_TOKENS)
                if question not in asked.questions:
                    yield kind, self._single("recall", question, candidate, RECALL_TOKENS)

    def _decisions(self, cut: int, asked: _Asked) -> Iterator[tuple[str, Probe]]:
        known = [candidate for candidate in self._decision_facts if candidate.seq < cut]
        for candidate in self._from_random_place(known, cut):
            question = DECISION_QUESTION.format(cue=candidate.cue, limit=DECISION_TOKENS)
            if question not in asked.questions:
                yield "decision", self._single("decision", question, candidate, DECISION_TOKENS)

    def _artifacts(self, cut: int, asked: _Asked) -> Iterator[tuple[str, Probe]]:
        ledger = self.facts.ledger(cut)
        groups: tuple[tuple[StatementKind, str, dict[str, FileOp]], ...] = (
            ("file_created", "Created", ledger.created),
            ("file_modified", "Modified", ledger.modified),
            ("file_examined", "Examined", ledger.examined),
        )
        project = {op.path for op in project_ops([op for _, _, ops in groups for op in ops.values()])}
        found: list[Statement] = []
        lines = []
        for kind, label, ops in groups:
            own = [op for op in ops.values() if op.path in project]
            found += (
                Statement(kind, op.path, (op.seq,), details=op.details if kind != "file_examined" else ()) for op in own
            )
            lines.append(f"{label}: {'; '.join(_statement(op, kind) for op in own) or 'none'}")
        if not any(fact.kind in ("file_created", "file_modified") for fact in found):
            return
        evidence = tuple(
            Evidence(fact.evidence[0], quote)
            for fact in _spread(found, MAX_EVIDENCE)
            if (quote := _quoted_path(self.facts.messages[fact.evidence[0]], fact.text))
        )
        question = ARTIFACT_QUESTION.format(place=place_of(self.facts.roots), limit=ARTIFACT_TOKENS)
        yield "artifact", Probe("artifact", question, "\n".join(lines), tuple(found), evidence, ARTIFACT_TOKENS)

    def _continuations(self, cut: int, asked: _Asked) -> Iterator[tuple[str, Probe]]:
        found: dict[str, tuple[Statement, Evidence]] = {}
        for fact, quote in open_work(self.facts, cut):
            source = self.facts.messages[fact.evidence[0]]
            found.setdefault(fact.text.lower(), (fact, Evidence(fact.evidence[0], _verbatim(source, quote))))
        facts = [fact for fact, _ in found.values()]
        if not facts:
            return
        open_facts = [fact.text for fact in facts if fact.kind != "failing_test"]
        lines = [f"Open: {'; '.join(open_facts) or 'none'}"]
        if not self.facts.is_support:
            failing = [fact.text for fact in facts if fact.kind == "failing_test"]
            lines.append(f"Failing: {'; '.join(failing) or 'none'}")
        question = SUPPORT_QUESTION if self.facts.is_support else CONTINUATION_QUESTION
        question = question.format(place=place_of(self.facts.roots), limit=CONTINUATION_TOKENS)
        evidence = tuple(evidence for _, evidence in found.values() if evidence.quote)[:MAX_EVIDENCE]
        yield (
            "continuation",
            Probe("continuation", question, "\n".join(lines), tuple(facts), evidence, CONTINUATION_TOKENS),
        )

    @cached_property
    def _reader(self) -> ContextReader:
        return ContextReader(self.facts.messages, ())

    @cached_property
    def _recall_facts(self) -> list[FactCandidate]:
        return recall_facts(self.facts)

    @cached_property
    def _decision_facts(self) -> list[FactCandidate]:
        return decisions(self.facts)

    def _single(self, probe_type: ProbeType, question: str, chosen: FactCandidate, limit: int) -> Probe:
        source = self.facts.messages[chosen.seq]
        truth = chosen.facts[0].text if chosen.kind == "value" else shorten(chosen.quote, 600)
        evidence = (Evidence(chosen.seq, _verbatim(source, chosen.quote)),)
        return Probe(probe_type, question, truth, chosen.facts, evidence, limit)

    def _draw(self, cut: int, purpose: str) -> int:
        """A number that depends on the session and the cut alone."""
        seed = f"{self.transcript.session_id}|{cut}|{purpose}".encode()
        return int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest(), "big")

    def _from_random_place(self, candidates: Iterable[FactCandidate], cut: int) -> list[FactCandidate]:
        """Candidates by their distance from a place drawn evenly from the history, so that no part is favoured."""
        place = self._draw(cut, "place") % max(cut, 1)
        return sorted(candidates, key=lambda candidate: (abs(candidate.seq - place), candidate.seq))


NOTHING: dict[ProbeType, str] = {
    "recall": "no error, command, version, result or request in the history can be asked for",
    "artifact": "no tool call in the history creates or modifies a file of the project",
    "continuation": "nothing open is known: no to-do item, failing test, unfinished request or announced step",
    "decision": "nobody states a choice with its alternative or its reason in the history",
}
"""Why no question of a type could be made at all."""


def place_of(roots: Roots) -> str:
    """Where the project lies, as an agent's environment would tell it; empty when it is not known."""
    places = list(dict.fromkeys(filter(None, (roots.cwd, *roots.directories))))[:4]
    if not places:
        return ""
    return f"The working directory is `{places[0]}`; the project lies in {', '.join(f'`{p}`' for p in places)}. "


def _spread(facts: Sequence[Statement], most: int) -> Sequence[Statement]:
    step = max(1, -(-len(facts) // most))
    return facts[::step]


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
