"""Up to five questions a point, each with a true answer that structure, the person's words or the later session proves.

A question is asked only if the untouched history yields its statements, if the system prompt alone does not, and if an
earlier point of the session has not asked for the same.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from compaction.points import CompactionPoint
from compaction.reading.file_paths import Roots
from compaction.reading.prose import terms
from compaction.recognition import READABLE, Claim, Matcher, TextIndex
from compaction.tokens import TiktokenCounter, counted_text
from compaction.transcript import Transcript
from judge.embedded.constraints import constraints, rules_in_force, single_rules
from judge.embedded.decisions import decisions
from judge.embedded.facts import Candidate, SessionFacts
from judge.embedded.net_files import MAX_FILES, MAX_NAMES, NetFile, definitions, is_scratch, net_files
from judge.embedded.open_work import open_work
from judge.embedded.recall_facts import first_request, later_requests, recall_facts, what_was_done
from judge.probe import PROBE_TYPES, Evidence, NotAsked, Probe, ProbeType
from judge.statement import Statement, StatementKind

VERSION = 12
"""Raise it when other probes are asked, or their truth is another."""

MAX_QUOTE = 300
MAX_EVIDENCE = 12

RECALL_TOKENS, ARTIFACT_TOKENS, CONTINUATION_TOKENS, DECISION_TOKENS, CONSTRAINT_TOKENS = 100, 900, 350, 160, 200
"""Limits of the answers, stated in the questions."""

RECALL_FORM = " Answer on one line, with nothing else; at most {limit} tokens."
FREE_FORM = " Answer in at most {limit} tokens."
ARTIFACT_QUESTION = (
    "{place}{which} has the session created, modified{names} and deleted, as things stand now? Scratch files that are "
    "still there count; changes that were undone again, files that were deleted again, and lock files do not."
)
NAMES = (
    " (each with the functions, classes, types and headings whose first line its changes add, alter or take away, "
    f"if they are {MAX_NAMES} at most)"
)
ARTIFACT_FORM = (
    " Answer in three lines that begin with `Created:`, `Modified:` and `Deleted:`, files separated by `; `, "
    "names in parentheses, or `none`; at most {limit} tokens."
)
ALL = "Which files of the project"
SINCE = "Of the files of the project that were touched since message {since}, the last compaction: which"
CONTINUATION_QUESTION = "{place}How does the work stand: {parts}?"
CONTINUATION_FORM = " Answer in lines that begin with {labels}, items separated by `; `; at most {limit} tokens."
FORMS: dict[ProbeType, tuple[str, int]] = {
    "recall": (RECALL_FORM, 2 * RECALL_TOKENS),  # a request is told whole
    "artifact": (ARTIFACT_FORM, ARTIFACT_TOKENS),
    "continuation": ("", CONTINUATION_TOKENS),
    "decision": (FREE_FORM, DECISION_TOKENS),
    "constraint": (FREE_FORM, CONSTRAINT_TOKENS),
}
PARTS = {
    "todo": ("Open", "which items of the to-do list are not done"),
    "untested": (
        "Untested",
        "which files with code, tests and scratch scripts aside, were changed since tests of the project were run last "
        "(builds, linters and scripts that only try something out are no tests)",
    ),
    "uncommitted": ("Uncommitted", "which changed files are not committed"),
    "failing": ("Failing", "what the last run left failing"),
    "next": ("Next", "which change the agent has announced last and not yet begun"),
    "scratch": ("Scratch", "which files made only to try something out lie in the project's top directory"),
    "asked": ("Asked", "what the person has asked for last"),
    "thrown": ("Thrown in", "what the person has said last, while the agent was at work"),
}
"""Part of the open work → its line of the truth, and its words in the question."""

REQUESTS = ("asked", "thrown")
FILE_KINDS: dict[str, StatementKind] = {
    "created": "file_created",
    "modified": "file_modified",
    "deleted": "file_deleted",
}
BY_CALLS = frozenset({"file_created", "file_modified", "file_deleted", "untested_edit", "open_task"})
"""Kinds that only calls prove."""

NOTHING: dict[ProbeType, str] = {
    "recall": "no call reports, and no person says, anything in the history that can be asked for",
    "artifact": "no tool call since the last point creates, modifies or deletes a file of the project for good",
    "continuation": "nothing open is known: no to-do item, untested or uncommitted edit, failing run or scratch file",
    "decision": "the person answers, approves, refuses and chooses nothing that can be asked for",
    "constraint": "neither the person nor a rules file sets a rule that is in force",
}
"""Why no question of a type could be made at all."""

CLOSED_BOOK, OPEN_BOOK = 0.2, 0.9
"""Support of a statement: what the system prompt alone must stay below, and the least that the history must yield."""

TOLD = 0.6
"""Share of a statement's words that its question may have."""

LONG_REQUEST = 4
"""Sentences up to which each sentence of a request is worth telling."""

MAX_TRIES = 12
"""Candidates of one type that are tried at a point."""


class EmbeddedProber:
    """Takes statements from tool calls, tool output and people's own words; asks only what it can prove."""

    name = f"embedded-prober@{VERSION}"

    def __init__(self) -> None:
        self._session: _SessionProbes | None = None

    def probes(self, transcript: Transcript, point: CompactionPoint) -> Sequence[Probe | NotAsked]:
        """One entry for each probe type, the same whenever it is asked."""
        if self._session is None or self._session.transcript is not transcript:
            self._session = _SessionProbes(transcript)
        return self._session.at(point)


def provable_statements(transcript: Transcript, cut: int) -> tuple[SessionFacts, tuple[Statement, ...]]:
    """The session as it was read, and all that questions before the message at ``cut`` could ask for, each once.

    The controls are those of the questions; nothing is drawn, and nothing is left to other points. A rule is told also
    where no question can ask for it alone. Of a long request nobody misses each sentence: only the open one is told.
    """
    session = _SessionProbes(transcript)
    found = [one for kind in PROBE_TYPES for one in session.candidates(kind, 0, cut, _Asked())]
    candidates = [one for one in found if one.kind != "request" or len(one.statements) <= LONG_REQUEST]
    rules = [Candidate("rule", "", rule.text, (rule,)) for _, rule in rules_in_force(session.facts, cut)]
    yielded = (statement for one in (*rules, *candidates) for statement in session.yielded(one, cut)[0])
    return session.facts, tuple({_key(statement): statement for statement in yielded}.values())


@dataclass
class _Asked:
    """The statements and kinds that a session's points have asked so far."""

    statements: set[tuple[object, ...]] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)

    def copy(self) -> _Asked:
        return _Asked(set(self.statements), Counter(self.kinds))


class _SessionProbes:
    """The probes of one session, made point after point."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.facts = SessionFacts(transcript)
        self._counter = TiktokenCounter()
        self._matcher = Matcher(transcript.messages, TextIndex(transcript.messages))
        self._made: dict[tuple[int, ...], tuple[Sequence[Probe | NotAsked], _Asked]] = {(): ((), _Asked())}

    def at(self, point: CompactionPoint) -> Sequence[Probe | NotAsked]:
        """The probes of a point, after those of the session's earlier points."""
        cuts = (*point.earlier_cuts, point.cut_seq)
        for n in range(1, len(cuts) + 1):
            if cuts[:n] not in self._made:
                asked = self._made[cuts[: n - 1]][1].copy()
                since = cuts[n - 2] if n > 1 else 0
                self._made[cuts[:n]] = [self._probe(kind, since, cuts[n - 1], asked) for kind in PROBE_TYPES], asked
        return self._made[cuts][0]

    def _probe(self, probe_type: ProbeType, since: int, cut: int, asked: _Asked) -> Probe | NotAsked:
        """The first question of a type that passes; else the reason why the last of them did not."""
        reason = NOTHING[probe_type]
        form, limit = FORMS[probe_type]
        for n, candidate in enumerate(self.candidates(probe_type, since, cut, asked)):
            if n >= MAX_TRIES:
                break
            keys = {_key(statement) for statement in candidate.statements}
            if keys <= asked.statements:
                reason = "an earlier point of the session has asked for the same"
                continue
            if self._counter.count(candidate.truth) > limit:
                reason = "the true answer is longer than an answer may be"
                continue
            yielded, reason = self.yielded(candidate, cut)
            if yielded:
                asked.statements |= keys
                asked.kinds[candidate.kind] += 1
                question = candidate.question + form.format(limit=limit)
                evidence = tuple(self._evidence(candidate))
                return Probe(probe_type, question, candidate.truth, yielded, evidence, limit)
        return NotAsked(probe_type, reason)

    def yielded(self, candidate: Candidate, cut: int) -> tuple[tuple[Statement, ...], str]:
        """The statements that the history yields; none, and why, where a question may not be asked."""
        history = self.facts.messages[:cut]
        system = tuple(message for message in history if message.role == "system")
        point = self._matcher.at(cut, [history, system])
        yielded, reason = [], "the full history does not yield the answer"
        for statement in candidate.statements:
            if _is_told(statement, candidate.question):
                return (), "the question gives the answer away"
            told, given = point.find(Claim(statement.text, statement.evidence, statement.quotes, statement.exact))
            # What has to stand to the letter is given away only by the letter; of a file words do not tell what became.
            most = READABLE if statement.exact else CLOSED_BOOK
            if system and given.support >= most and statement.kind not in BY_CALLS:
                reason = "the system prompt gives the answer away"
            elif told.support >= OPEN_BOOK:
                yielded.append(statement)
        return tuple(yielded), reason

    def candidates(self, probe_type: ProbeType, since: int, cut: int, asked: _Asked) -> Sequence[Candidate]:
        """All that can be asked for in a question of a type, what is tried first at the front."""
        if probe_type == "artifact":
            return self._artifact(since, cut)
        if probe_type == "continuation":
            return self._continuation(since, cut, asked)
        if probe_type == "decision":
            return decisions(self.facts, cut)
        if probe_type == "recall":
            parts = open_work(self.facts, since, cut)
            open_request = {_key(statement) for part in REQUESTS for statement in parts.get(part, ())}
            later = later_requests(self.facts, since, cut)
            return [
                *self._balance(recall_facts(self.facts, cut), cut, asked),
                *first_request(self.facts, cut),
                *(c for c in later if open_request.isdisjoint(map(_key, c.statements))),
                *what_was_done(self.facts, cut),
            ]
        whole, single = constraints(self.facts, cut), list(single_rules(self.facts, cut))
        return [*self._balance(whole, cut, asked), *self._balance(single, cut, asked)]

    def _balance(self, found: Sequence[Candidate], cut: int, asked: _Asked) -> Sequence[Candidate]:
        """Candidates: first the kinds that were asked for least, and of these what is needed behind the point."""
        needed = {c.kind for c in found if _is_needed(c)}
        return sorted(
            found,
            key=lambda c: (
                set(map(_key, c.statements)) <= asked.statements,
                *(asked.kinds[c.kind], c.kind not in needed, self._draw(cut, c.kind)),
                *(not _is_needed(c), self._draw(cut, c.question)),
            ),
        )

    def _artifact(self, since: int, cut: int) -> list[Candidate]:
        files = net_files(self.facts, 0, cut)
        which = ALL
        if len(files) > MAX_FILES:
            files, which = [file for file in files if file.touched >= since], SINCE.format(since=since)
        if len(files) > MAX_FILES or all(is_scratch(self.facts, file, cut) for file in files):
            return []
        names = {f.path: definitions(self.facts, f) if f.verb == "modified" else () for f in files}
        told = {verb: "; ".join(_told(f, names[f.path]) for f in files if f.verb == verb) for verb in FILE_KINDS}
        truth = "\n".join(f"{verb.capitalize()}: {files or 'none'}" for verb, files in told.items())
        statements = tuple(
            Statement(FILE_KINDS[file.verb], file.path, file.seqs, details=names[file.path]) for file in files
        )
        question = ARTIFACT_QUESTION.format(
            place=place_of(self.facts.roots), which=which, names=NAMES if any(names.values()) else ""
        )
        return [Candidate("artifact", question, truth, statements)]

    def _continuation(self, since: int, cut: int, asked_for: _Asked) -> list[Candidate]:
        parts = open_work(self.facts, since, cut)
        for part in REQUESTS:
            if asked_for.statements.issuperset(map(_key, parts.get(part, ()))):
                parts.pop(part, None)
        asked = "; ".join(PARTS[part][1] for part in parts)
        labels = ", ".join(f"`{PARTS[part][0]}:`" for part in parts)
        question = CONTINUATION_QUESTION.format(place=place_of(self.facts.roots), parts=asked)
        question += CONTINUATION_FORM.format(labels=labels, limit=CONTINUATION_TOKENS)
        truth = "\n".join(f"{PARTS[part][0]}: {'; '.join(s.text for s in told)}" for part, told in parts.items())
        statements = tuple(statement for told in parts.values() for statement in told)
        return [Candidate("continuation", question, truth, statements)] if parts else []

    def _evidence(self, candidate: Candidate) -> Iterator[Evidence]:
        for statement in candidate.statements[:MAX_EVIDENCE]:
            for seq in statement.evidence[-1:]:
                text = counted_text(self.facts.messages[seq])
                words = (*statement.quotes, *statement.exact, statement.text, statement.text.rsplit("/", 1)[-1])
                yield Evidence(seq, next((quote[:MAX_QUOTE] for quote in words if quote in text), ""))

    def _draw(self, cut: int, purpose: str) -> int:
        """A number that depends on the session and the cut alone."""
        seed = f"{self.transcript.session_id}|{cut}|{purpose}".encode()
        return int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest(), "big")


def _key(statement: Statement) -> tuple[object, ...]:
    return statement.kind, statement.exact or statement.text, statement.details


def _is_told(statement: Statement, question: str) -> bool:
    """Whether a question has the words of its answer."""
    if statement.exact:
        return all(words in question for words in statement.exact)
    own = set(terms(" ".join(statement.quotes) or statement.text))
    return statement.kind not in BY_CALLS and len(own & set(terms(question))) > TOLD * len(own)


def _is_needed(candidate: Candidate) -> bool:
    return any(statement.needed_at is not None for statement in candidate.statements)


def _told(file: NetFile, names: tuple[str, ...]) -> str:
    return f"{file.path} ({', '.join(names)})" if names else file.path


def place_of(roots: Roots) -> str:
    """The place of the project, as an agent's environment would tell it; empty if unknown."""
    places = list(dict.fromkeys(filter(None, (roots.cwd, *roots.directories))))[:4]
    if not places:
        return ""
    told = f"The working directory is `{places[0]}`; " if roots.cwd else ""
    lies = "`, `".join(roots.directories or tuple(places))
    return f"{told}{'the' if told else 'The'} project lies in `{lies}`. "
