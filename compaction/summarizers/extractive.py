"""A summariser that runs in the process: extractive, deterministic, without a model.

It fills the sections that a strategy asks for with lines taken from the messages that the strategy shows it, within
the strategy's token limit, and merges with a previous summary where the strategy gives one. It knows nothing of the
probes. What it cannot do is put things in words of its own: a real model packs more into the same tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache

from compaction.model import Completion, Section, SectionKind, SummaryError, SummaryRequest
from compaction.reading.file_effects import FileOp, ToolResults, same_file
from compaction.reading.file_paths import find_roots
from compaction.reading.message_facts import Reading, context_ledger, project_ops, read_message
from compaction.reading.run_reports import without_colours
from compaction.reading.todos import latest_todos
from compaction.reading.tool_calls import shell_command
from compaction.reading.written_blocks import written_files
from compaction.summarizers.central_sentences import central, cut, prose, ranked, words
from compaction.tokens import TokenCounter
from compaction.transcript import Message, ToolCall

VERSION = 4
"""Raise it when a summary comes out otherwise."""

NAME = f"embedded-summarizer@{VERSION}"

EMPTY = "- (none)"
"""What a section says that has nothing in it."""

SHARES: dict[SectionKind, float] = {
    "files": 2.5,
    "intent": 2.0,
    "decisions": 2.0,
    "errors": 1.5,
    "details": 1.5,
    "state": 1.0,
    "next_steps": 1.0,
    "free": 1.0,
}
"""Room of a section in proportion to the others; what one does not use the next ones may."""

MOST_CHARS_A_TOKEN = 12
"""A line longer than this times the room that is left is not worth counting."""

MAX_COSTS = 100_000
"""Lines whose tokens are remembered."""

MIN_WORDS = 4
"""Different words of a sentence of the agent's that says anything."""

_BULLET = re.compile(r"^\s*[-*]\s+(.*\S)\s*$")
_ELEMENT = re.compile(r"\s*<(/?)([\w-]+)>\s*")
_ERROR_LINE = re.compile(r"^`[^`]+`: ")
_FILE_LINE = re.compile(r"^`?([^`\s]+?)`? \((created|modified|examined|deleted)\)(?:: (.*))?$")

_SETUP = re.compile(
    r"\s*(?:<[\w-]+>\s*)*(?:# ?(?:AGENTS|CLAUDE|GEMINI)\.md\b|Contents of \S+\.md|This is the \w+ CLI\b|"
    r"Today's date is|We are setting up the context|Caveat: The messages|\[Request interrupted|"
    r"This session is being continued)"
)
"""How messages begin that no person wrote, where the log does not say so."""
_SURROUNDINGS = re.compile(
    r"<((?:[\w-]*(?:context|environment|reminder|datetime|stdout|stderr|example)|(?:user|system)[_-]instructions|"
    r"(?:command|ide)[-_]\w+|uploaded_files)[\w-]*)\b[^<>]{0,200}>.*?</\1\s*>",
    re.DOTALL,
)
"""Elements in which harnesses tell of the surroundings; what a person wrote stands in none of them."""
_ORDER = re.compile(
    r"\b(?:must|never|always|do(?: not|n['’]t)|should|shall|may not|cannot|can't|only|please|required?|"
    r"make sure|ensure|avoid|without|instead|needs? to|want|your task|no need)\b",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"^(?:now|next|first|then|let me|let's|let us|i'll|i will|i need to|okay|ok|perfect|great|good|hmm|wait|"
    r"thought:|actually)\b|\?$|:$",
    re.IGNORECASE,
)
_COMING = re.compile(
    r"\b(?:let me|let's|i'll|i will|i need to|next|remaining|still (?:needs?|to do|fails?)|would you like)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|so that|therefore|instead|rather than|due to|in order to|caused?|reason|decid\w+|chose)\b",
    re.IGNORECASE,
)
_EXACT = re.compile(r"`[^`]+`|\d|\w/\w|\w_\w|[a-z][A-Z]")
"""A name or a value."""
_LETTERS = re.compile(r"[A-Za-z]{2,}")
_WRAPPER = re.compile(r"^</?\w+>|\bexit(?:ed)? (?:with )?(?:code|status)|^returncode", re.IGNORECASE)
_COMPLAINTS = (
    re.compile(r"(?:error|exception|failure)\b.*\S|\b(?:fail(?:ed|s)?|fatal|panic)\b", re.IGNORECASE),
    re.compile(
        r"\b(?:cannot|can't|not|no such|denied|refused|invalid|unexpected|undefined|missing|unknown)\b", re.IGNORECASE
    ),
)
"""Words of a line that complains of something, the stronger first."""


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
        text = self._sections(request) if request.sections else self._free(request) or EMPTY
        completion = Completion(
            text, NAME, input_tokens=sum(m.tokens or 0 for m in request.span), output_tokens=self._counter.count(text)
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
        said: set[str] = set()
        for title, kind in sorted(parts, key=lambda part: SHARES[part[1]]):
            share = room * SHARES[kind] / weights + spare
            merged = _merge(kind, _old_of(kind, old[title]), fresh)
            lines = self._within([(rank, line) for rank, line in merged if line not in said] or merged, int(share))
            said.update(lines)
            spare = share - sum(map(self._cost, lines))
            blocks[title, kind] = lines
        bodies = {s.title: [line for kind in s.kinds for line in blocks[s.title, kind]] for s in request.sections}
        return "\n\n".join(f"## {title}\n" + ("\n".join(lines) or EMPTY) for title, lines in bodies.items())

    def _free(self, request: SummaryRequest) -> str:
        earlier = [request.previous, *(m.text for m in request.span if m.seq is None and m.covers)]
        fresh = _Extract([m for m in request.span if m.seq is not None])
        lines = fresh.free([sentence for text in earlier for sentence in prose(text)])
        return "\n".join(self._within([(rank, f"- {line}") for rank, line in lines], request.max_tokens))

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
        """The operations on files: by calls, or by blocks of text if no call changes a file."""
        ledger = context_ledger(self.span, self.results, find_roots(self.span))
        if not (ledger.created or ledger.modified or ledger.deleted):
            ledger.extend(op for message in self.span for op in written_files(message))
        ops = [*ledger.created.values(), *ledger.modified.values(), *ledger.examined.values(), *ledger.deleted.values()]
        return project_ops(ops)

    def intent(self) -> list[tuple[int, str]]:
        return ranked(central(self.asked))

    @cached_property
    def asked(self) -> dict[str, float]:
        """The person's sentences with a prior: highest for the first and the last request, and for standing orders."""
        requests = [said for message in self.span if (said := _own_words(message))]
        found: dict[str, float] = {}
        for number, request in enumerate(requests):
            place = 1.0 if number in (0, len(requests) - 1) else 0.6
            # A text's title: its first sentence, or what the first colon announces.
            announced = next((n for n, sentence in enumerate(request, 1) if sentence.endswith(":")), 0)
            for n, sentence in enumerate(request):
                first = 5.0 if n in (0, announced) else 1.0
                order = 3.0 if _has(_ORDER, sentence) else 1.0
                prior = place * first * order * (0.1 if sentence.endswith(":") else 1.0)
                found[sentence] = max(prior, found.get(sentence, 0.0))
        return found

    @cached_property
    def said(self) -> dict[str, float]:
        """The agent's sentences with a prior: highest for the reports that end its turns."""
        found: dict[str, float] = {}
        for message in self.span:
            if message.role == "assistant":
                place = 1.0 if message.tool_calls else 1.5
                found |= {s: max(place, found.get(s, 0.0)) for s in _sentences(message)}
        return found

    @cached_property
    def findings(self) -> dict[str, float]:
        """The agent's sentences that do more than announce, with their worth."""
        return central({s: prior for s, prior in self.said.items() if not _has(_ANNOUNCED, s) or _has(_REASON, s)})

    def decisions(self) -> list[tuple[int, str]]:
        return self._found(_REASON)

    def details(self) -> list[tuple[int, str]]:
        return self._found(_EXACT)

    def _found(self, mark: re.Pattern[str]) -> list[tuple[int, str]]:
        """Findings, above all those with a mark."""
        return ranked({s: worth * (2.0 if _has(mark, s) else 1.0) for s, worth in self.findings.items()})

    def free(self, old: Sequence[str] = ()) -> list[tuple[int, str]]:
        """Sentences of all that was said and of earlier summaries; these count as much as what was asked."""
        asked = {s: 2 * prior for s, prior in self.asked.items()}
        said = {s: prior * (0.3 if _has(_ANNOUNCED, s) else 1.0) for s, prior in self.said.items()}
        return ranked(central(dict.fromkeys(old, 2.0) | asked | said))

    def next_steps(self) -> list[tuple[int, str]]:
        todo = latest_todos(self.span)
        lines = [(0, cut(item.text)) for item in todo.unfinished] if todo else []
        failing = self.last_run.failing if self.last_run else []
        lines += [(0, cut(f"failing: {test}: {why}")) for test, why in failing[:6]]
        announced = [s for s in self.last_said() if _has(_COMING, s)]
        return lines + [(1, sentence) for sentence in announced[-2:]]

    def state(self) -> list[tuple[int, str]]:
        totals = self.last_run.totals if self.last_run else None
        lines = [(0, f"last test run: {totals[0]} passed, {totals[1]} failed")] if totals else []
        last = self.last_said()
        told = [s for s in last if not _has(_ANNOUNCED, s)] or last
        return lines + [(len(told) - n, sentence) for n, sentence in enumerate(told)][-8:]

    @cached_property
    def last_run(self) -> Reading | None:
        """The last result that reports on tests."""
        return next((r for r in map(read_message, self.span[::-1]) if r.totals is not None or r.failing), None)

    def last_said(self) -> Sequence[str]:
        """The sentences of the agent's last two messages with any."""
        told = [said for m in self.span[-40:] if m.role == "assistant" and (said := _sentences(m))]
        return [sentence for said in told[-2:] for sentence in said if not sentence.endswith(":")]

    def errors(self) -> list[tuple[int, str]]:
        lines: dict[str, int] = {}
        calls = [call for message in self.span for call in message.tool_calls]
        for age, call in enumerate(reversed(calls)):
            if self.results.is_error(call.id) and (told := _complaint(self.results.text(call.id))):
                lines.setdefault(f"`{_title(call)}`: {cut(told, 160)}", age)
        return [(rank, line) for line, rank in reversed(lines.items())]


@lru_cache(maxsize=32_768)
def _has(mark: re.Pattern[str], sentence: str) -> bool:
    return mark.search(sentence) is not None


def _title(call: ToolCall) -> str:
    """A call in a few words: the command's first line, or the tool with its file."""
    what = shell_command(call) or ""
    if not what:
        what = f"{call.name} " + next((str(v) for k, v in call.parsed().items() if "path" in k), "")
    return cut(what.strip().split("\n", 1)[0].replace("`", "'"), 120)


def _complaint(result: str) -> str:
    """The last line of a failed call's result that complains of something; a result of one line."""
    lines = [line.strip() for line in without_colours(result[-20_000:]).splitlines()]
    lines = [line for line in lines if len(_LETTERS.findall(line)) >= 2 and not _WRAPPER.search(line)]
    found = (line for words in _COMPLAINTS for line in reversed(lines) if words.search(line))
    return next(found, lines[0] if len(lines) == 1 else "")


def _sentences(message: Message) -> Sequence[str]:
    """An agent's sentences, its reasoning first, without the shortest."""
    return [s for text in (message.reasoning, message.text) if text for s in prose(text) if len(words(s)) >= MIN_WORDS]


def _own_words(message: Message) -> Sequence[str]:
    """A person's sentences, without rules, reminders and surroundings in the person's name."""
    if message.role != "user" or message.author is not None or _SETUP.match(message.text):
        return ()
    return prose(_SURROUNDINGS.sub("\n", message.text))


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
