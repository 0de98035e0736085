"""A summariser that runs in the process: extractive, deterministic, without a model.

It fills the sections that a strategy asks for with lines taken from the messages that the strategy shows it, within
the strategy's token limit, and merges with a previous summary where the strategy gives one. It knows nothing of the
probes. What it cannot do is put things in words of its own: a real model packs more into the same tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from compaction.model import Completion, Section, SectionKind, SummaryError, SummaryRequest
from compaction.reading.file_effects import FileOp, ToolResults, same_file
from compaction.reading.file_paths import find_roots
from compaction.reading.message_facts import LINE_CHARS, context_ledger, iter_readings, project_ops, read_message
from compaction.reading.prose import shorten, terms
from compaction.reading.shell.effects import only_reads
from compaction.tokens import TokenCounter
from compaction.transcript import Message

VERSION = 2
"""Raise it when a summary comes out otherwise."""

NAME = f"embedded-summarizer@{VERSION}"

EMPTY = "- (none)"
"""What a section says that has nothing in it."""

SHARES: dict[SectionKind, float] = {
    "files": 3.0,
    "decisions": 2.0,
    "errors": 1.5,
    "details": 1.5,
    "state": 1.0,
    "intent": 1.0,
    "next_steps": 1.0,
    "free": 1.0,
}
"""Room of a section in proportion to the others; what one does not use the next ones may."""

MOST_CHARS_A_TOKEN = 12
"""A line longer than this times the room that is left is not worth counting."""

MAX_COSTS = 100_000
"""Lines whose tokens are remembered."""

_BULLET = re.compile(r"^\s*[-*]\s+(.*\S)\s*$")
_ELEMENT = re.compile(r"\s*<(/?)([\w-]+)>\s*")
_ERROR_LINE = re.compile(r"^`[^`]+`: ")
_FILE_LINE = re.compile(r"^`?([^`\s]+?)`? \((created|modified|examined|deleted)\)(?:: (.*))?$")


class EmbeddedSummarizer:
    """Fills a request's sections by extraction."""

    name = NAME

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._known: dict[tuple[object, ...], tuple[tuple[Message, ...], Completion]] = {}
        self._costs: dict[str, int] = {}

    def summarize(self, request: SummaryRequest) -> Completion:
        """A summary within ``request.max_tokens``; raises SummaryError when there is nothing to summarise."""
        if not request.span and not request.previous:
            raise SummaryError("there is nothing to summarise")
        key = _identity(request)
        found = self._known.get(key)
        if found is not None:
            return found[1]
        if request.sections:
            text = self._sections(request)
        else:
            text = "\n".join(self._within(_salient(request.span, request.previous), request.max_tokens)) or EMPTY
        completion = Completion(
            text,
            NAME,
            input_tokens=sum(m.tokens or 0 for m in request.span),
            output_tokens=self._counter.count(text),
        )
        if len(self._known) >= 64:
            self._known.clear()
        self._known[key] = (request.span, completion)
        return completion

    def _sections(self, request: SummaryRequest) -> str:
        earlier = [request.previous] if request.previous else []
        earlier += [m.text for m in request.span if m.seq is None and m.covers]
        old: dict[str, list[str]] = {s.title: [] for s in request.sections}
        for text in earlier:
            for title, items in parse_summary(text, request.sections).items():
                old[title] = list(dict.fromkeys([*old[title], *items]))
        fresh = _Extract([m for m in request.span if m.seq is not None])
        headings = sum(self._counter.count(f"## {s.title}\n{EMPTY}\n\n") for s in request.sections)
        room = max(request.max_tokens - headings, 0)
        parts = [(section.title, kind) for section in request.sections for kind in section.kinds]
        weights = sum(SHARES[kind] for _, kind in parts)
        blocks: dict[tuple[str, SectionKind], list[str]] = {}
        spare = 0.0
        for title, kind in sorted(parts, key=lambda part: SHARES[part[1]]):
            share = room * SHARES[kind] / weights + spare
            lines = self._within(_merge(kind, _old_of(kind, old[title]), fresh), int(share))
            spare = share - sum(map(self._cost, lines))
            blocks[title, kind] = lines
        bodies = {s.title: [line for kind in s.kinds for line in blocks[s.title, kind]] for s in request.sections}
        return "\n\n".join(f"## {title}\n" + ("\n".join(lines) or EMPTY) for title, lines in bodies.items())

    def _cost(self, line: str) -> int:
        """Tokens of a line with its end, counted once."""
        cost = self._costs.get(line)
        if cost is None:
            if len(self._costs) >= MAX_COSTS:
                self._costs.clear()
            cost = self._costs[line] = self._counter.count(line + "\n")
        return cost

    def _within(self, ranked: Sequence[tuple[int, str]], max_tokens: int) -> list[str]:
        """The lines of the highest rank that fit (rank 0 first), put back into their order."""
        chosen: list[tuple[int, str]] = []
        left = max_tokens
        for order, (_, line) in sorted(enumerate(ranked), key=lambda pair: (pair[1][0], pair[0])):
            if len(line) > left * MOST_CHARS_A_TOKEN or (cost := self._cost(line)) > left:
                continue
            left -= cost
            chosen.append((order, line))
            if left < 8:
                break
        return [line for _, line in sorted(chosen)]


def parse_summary(text: str, sections: Sequence[Section]) -> dict[str, list[str]]:
    """The items of a summary by section title, under a heading or in an element of that name.

    Headings that no section has end the section before them, and so does the element's end.
    """
    found: dict[str, list[str]] = {}
    titles = {section.title.lower(): section.title for section in sections}
    current: str | None = None
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            current = titles.get(line.strip("# :").lower())
        elif (element := _ELEMENT.fullmatch(line)) and element[2].lower() in titles:
            current = None if element[1] else titles[element[2].lower()]
        elif current is not None and (bullet := _BULLET.match(line)) and line.strip() != EMPTY:
            found.setdefault(current, []).append(bullet[1])
    return found


def _old_of(kind: SectionKind, items: Sequence[str]) -> list[str]:
    """The items of a section that are of one kind: files and errors are told by their form."""
    forms = {"files": _FILE_LINE, "errors": _ERROR_LINE}
    if kind in forms:
        return [item for item in items if forms[kind].match(item)]
    return [item for item in items if not any(form.match(item) for form in forms.values())]


def _identity(request: SummaryRequest) -> tuple[object, ...]:
    """Names a request by the identity of its messages, which are kept beside the result, so that ids stay taken."""
    shape = tuple((s.title, s.kinds) for s in request.sections)
    return (tuple(map(id, request.span)), request.previous, shape, request.max_tokens)


class _Extract:
    """Lines for each kind of section out of a span of messages. A rank of 0 is kept longest."""

    def __init__(self, span: Sequence[Message]) -> None:
        self.span = span
        self.results = ToolResults(span)

    def lines(self, kind: SectionKind) -> list[tuple[int, str]]:
        """(rank, line) in the order of the session."""
        return {
            "intent": self.intent,
            "decisions": self.decisions,
            "next_steps": self.next_steps,
            "errors": self.errors,
            "state": self.state,
            "details": self.details,
            "free": self.free,
            "files": list,
        }[kind]()

    def ops(self) -> list[FileOp]:
        ledger = context_ledger(self.span, self.results, find_roots(self.span))
        ops = [*ledger.created.values(), *ledger.modified.values(), *ledger.examined.values(), *ledger.deleted.values()]
        return project_ops(ops)

    def intent(self) -> list[tuple[int, str]]:
        asked = []
        for message in self.span:
            if message.role == "user":
                said = [s for s in read_message(message).sentences if len(terms(s)) >= 3]
                asked += [(i, shorten(s, LINE_CHARS)) for i, s in enumerate(said[:3])]
        return asked

    def decisions(self) -> list[tuple[int, str]]:
        return [(max(0, 3 - n), s) for r in iter_readings(self.span) for s, n, decided in r.lines if decided]

    def next_steps(self) -> list[tuple[int, str]]:
        lines: list[tuple[int, str]] = []
        todo = next((r.todos for r in iter_readings(self.span[::-1]) if r.todos), None)
        if todo is not None:
            lines += [(0, shorten(item.text, LINE_CHARS)) for item in todo.items if item.status != "done"]
        for reading in iter_readings(self.span[::-1]):
            if reading.totals is not None or reading.failing:
                lines += [(0, shorten(f"failing: {test}: {why}", LINE_CHARS)) for test, why in reading.failing[:6]]
                break
        announced = [s for r in iter_readings(self.span[-30:]) for s in r.intents]
        return lines + [(1, shorten(s, LINE_CHARS)) for s in announced[-2:]]

    def errors(self) -> list[tuple[int, str]]:
        lines: dict[str, int] = {}
        for reading in iter_readings(self.span):
            for call_id, command in reading.commands:
                result = None if only_reads(command) else self.results.get(call_id)
                if result is not None and (errors := read_message(result).errors):
                    first = command.split("\n", 1)[0].strip()[:120].strip()
                    lines.setdefault(f"`{first}`: {shorten(errors[0].line, 160)}", 0 if result.is_error else 1)
        return [(rank, line) for line, rank in lines.items()]

    def state(self) -> list[tuple[int, str]]:
        said = [r for r in iter_readings(self.span) if r.message.role == "assistant" and r.sentences]
        lines = [(0, shorten(s, LINE_CHARS)) for r in said[-2:] for s in r.sentences[:3]]
        totals = next((r.totals for r in iter_readings(self.span[::-1]) if r.totals), None)
        return [(0, f"last test run: {totals[0]} passed, {totals[1]} failed"), *lines] if totals else lines

    def details(self) -> list[tuple[int, str]]:
        lines: dict[str, int] = {}
        for reading in iter_readings(self.span):
            for name, version in reading.versions[:10]:
                lines.setdefault(f"{name} {version}", 2)
        seen: set[str] = set()
        for line, rank in self.decisions_and_findings():
            key = line[:60]
            if key not in seen:
                seen.add(key)
                lines.setdefault(line, rank)
        return [(rank, line) for line, rank in lines.items()]

    def decisions_and_findings(self) -> list[tuple[str, int]]:
        """Prose with the most code names in it."""
        said = [line for r in iter_readings(self.span) if r.message.role == "assistant" for line in r.lines]
        return [(line, max(0, 4 - n)) for line, n, _ in said if n >= 2]

    def free(self) -> list[tuple[int, str]]:
        return [(rank, line.removeprefix("- ")) for rank, line in _salient(self.span, "")]


def _merge(kind: SectionKind, old: Sequence[str], fresh: _Extract) -> list[tuple[int, str]]:
    """Old items and new ones as ranked bullet lines; of equal items the newer place counts."""
    if kind == "files":
        return _merge_files(old, fresh.ops())
    new = fresh.lines(kind)
    if kind in ("next_steps", "state") and new:
        old = []
    kept = {" ".join(line.split()): rank for rank, line in new}
    merged = [(1, item) for item in old if item not in kept]
    merged += [(rank, line) for line, rank in kept.items() if line]
    return [(rank, f"- {line}") for rank, line in merged]


def _merge_files(old: Sequence[str], ops: Sequence[FileOp]) -> list[tuple[int, str]]:
    """One line a file: what was last done to it, a created file staying created, with the names that changed."""
    files: dict[str, tuple[str, list[str]]] = {}
    for item in old:
        if match := _FILE_LINE.match(item):
            files[match[1]] = (match[2], [name.strip(" `") for name in (match[3] or "").split(",") if name.strip()])
    for op in ops:
        path = next((known for known in files if same_file(known, op.path)), op.path)
        verb, names = files.pop(path, ("examined", []))
        if verb == "examined" or op.verb == "deleted":
            verb = op.verb
        files[path] = (verb, list(dict.fromkeys([*op.details, *names]))[:6])
    order = {"created": 0, "modified": 0, "deleted": 1, "examined": 2}
    return [
        (order.get(verb, 1), f"- {path} ({verb})" + (": " + ", ".join(f"`{n}`" for n in names) if names else ""))
        for path, (verb, names) in files.items()
    ]


def _salient(span: Sequence[Message], previous: str) -> list[tuple[int, str]]:
    """A free-form summary's sentences: those with the words that the conversation uses most, first request first."""
    pool: list[tuple[str, float]] = []
    weights: dict[str, int] = {}
    for reading in iter_readings(span):
        factor = 2.0 if reading.message.role == "user" else 1.0
        for line in (
            [line for line, _, _ in reading.lines]
            if reading.message.seq is not None
            else reading.message.text.splitlines()
        ):
            if len(line) < 30:
                continue
            pool.append((line.lstrip("- "), factor))
            for term in terms(line):
                weights[term] = weights.get(term, 0) + 1
    pool += [(line.lstrip("- "), 1.0) for line in previous.splitlines() if len(line) >= 30]
    scored = []
    for line, factor in dict(pool).items():
        words = terms(line)
        scored.append((line, factor * sum(weights.get(w, 0) for w in words) / (len(words) + 8)))
    by_score = sorted(range(len(scored)), key=lambda i: -scored[i][1])
    rank = {position: place for place, position in enumerate(by_score)}
    return [(rank[i], f"- {line}") for i, (line, _) in enumerate(scored)]
