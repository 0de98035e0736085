"""Aider's chat history (`.aider.chat.history.md`): many chats in one Markdown file.

Lines tell who speaks: `#### ` the person, `> ` aider itself, all else the model. The model has no tools; aider applies
the edits that stand in its answer and says so. An applied edit becomes a call and leaves the text, so that it counts
once; what aider said next is its result. The files in the chat and the system prompt are not recorded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from compaction.transcript import Role, Transcript
from flows.sources.formats.aider._edit_blocks import cut_edits
from flows.sources.reading.base import Head, Source, SourceFormat
from flows.sources.reading.session import BOOKKEEPING, SessionDraft
from flows.sources.reading.usage import make_usage

NAME = "aider_md"
_START = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)[ \t]*\r?$", re.MULTILINE)
_HISTORY = re.compile(r"\.?aider\.chat\.history[\w.-]*\.md\Z")
_APPLIED = "Applied edit to "
_MODEL = re.compile(r"(?:Main model|Models?): (\S+?),?(?: with | \(|\s*$)")
_TOKENS = re.compile(r"Tokens: ([\d.,]+k?) sent(?:.*?([\d.,]+k?) cache hit)?.*?([\d.,]+k?) received")
_COST = re.compile(r"Cost: .*?\$([\d.,]+) session")
_FENCE = re.compile(r"(`{3,})|<(thinking-content-[0-9a-f]{8,}|think|thinking)>")
_THINKING = re.compile(r"<(thinking-content-[0-9a-f]{8,}|think|thinking)>\n(.*?)(?:\n</\1>|\Z)", re.DOTALL)
_SAYS = ("/ask ", "/code ", "/architect ", "/help ", "/context ")
_PERSON, _AIDER = "#### ", "> "
_LONGEST_NOTE = 300
BEFORE_FIRST = "output before the first chat"


def detect(head: Head) -> bool:
    """Whether the text holds the line that starts a chat."""
    return bool(head.text) and (_START.search(head.text) is not None or _HISTORY.match(head.name) is not None)


def read(source: Source) -> Iterator[Transcript]:
    """The chats, one by one."""
    text = source.text
    starts = list(_START.finditer(text))
    first = starts[0].start() if starts else len(text)
    yield from _chat(source, text[:first], 0, "")
    line = text.count("\n", 0, first)
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        yield from _chat(source, text[start.end() : end], line, f"{start[1]}T{start[2]}")
        line += text.count("\n", start.start(), end)


def _chat(source: Source, text: str, line: int, started: str) -> Iterator[Transcript]:
    """One chat; without a start it is what is left of one whose beginning was cut off."""
    turns = list(_turns(text))
    if not started and all(role == "tool" for role, _, _ in turns):
        source.account.leave_out(BEFORE_FIRST, "tool", len(turns))
        return
    if not turns:
        source.account.leave_out(BOOKKEEPING)
        return
    session = SessionDraft(source)
    session.started_at = session.ended_at = started or None
    for number, (role, at, lines) in enumerate(turns):
        ref = source.ref(line + at + 1)
        if role == "user":
            _say(session, _strip_mark(lines, _PERSON), ref)
        elif role == "tool":
            _output(session, _strip_mark(lines, _AIDER), ref)
        else:
            follows = turns[number + 1][2] if number + 1 < len(turns) else []
            _answer(session, "\n".join(lines).strip("\r\n"), ref, _applied_paths(_strip_mark(follows, _AIDER)))
    native = None
    if started:
        opening = next((line for _, _, lines in turns for line in lines if line.strip()), "")
        native = f"{started}-{hashlib.blake2b(opening.encode(), digest_size=4).hexdigest()}"
    yield from session.build(NAME, native)


def _turns(text: str) -> Iterator[tuple[Role, int, list[str]]]:
    """Yield the role, first line and lines of each turn.

    Aider ends what it says and what the person says with two spaces. So within a code fence of an answer a line that
    only begins like them is part of the code, and a line of aider's without them goes on in the next ones, which have
    no mark.
    """
    role: Role | None = None
    start, lines = 0, list[str]()
    fence: str | None = None
    goes_on = -1
    every = text.split("\n")
    for at, line in enumerate(every):
        plain = line.rstrip("\r")
        if at <= goes_on:
            lines.append(line)
            continue
        if role == "assistant" and fence is not None and not plain.endswith("  "):
            if plain.startswith(fence) and not plain.replace(fence, "").strip("`"):
                fence = None
            lines.append(line)
            continue
        speaks: Role = "user" if plain.startswith(_PERSON) else "tool" if plain.startswith(_AIDER) else "assistant"
        if speaks == "assistant" and not plain.strip():
            if role is not None:
                lines.append(line)
            continue
        if speaks != "assistant":
            fence = None
            if speaks == "tool" and not plain.endswith("  "):
                goes_on = _last_of(every, at, role == "user" and _is_command(lines))
        elif opened := _FENCE.match(plain):
            fence = opened[1] or f"</{opened[2]}>"
        if speaks != role:
            if role is not None:
                yield role, start, lines
            role, start, lines = speaks, at, []
        lines.append(line)
    if role is not None:
        yield role, start, lines


def _last_of(lines: list[str], at: int, over_blanks: bool) -> int:
    """Find the last line of an output whose first line alone has a mark.

    It can go on behind a blank line when the person ran a command: the model has had nothing to answer yet.
    """
    for end in range(at + 1, len(lines)):
        plain = lines[end].rstrip("\r")
        if plain.startswith((_AIDER, _PERSON, "```")) or not (plain or over_blanks):
            break
        if plain.endswith("  "):
            return end
    return at


def _is_command(lines: list[str]) -> bool:
    """Whether the last thing that the person typed is a command to aider alone."""
    last = next((line for line in reversed(lines) if line.startswith(_PERSON)), "").removeprefix(_PERSON)
    return last.startswith(("/", "!")) and not last.startswith(_SAYS)


def _strip_mark(lines: list[str], mark: str) -> list[str]:
    """Lines without the mark at their beginning and the two spaces at their end, blank lines behind them dropped."""
    plain = [line.rstrip("\r").removesuffix("  ") for line in lines]
    plain = [line.removeprefix(mark) for line in plain]
    while plain and not plain[-1].strip():
        plain.pop()
    return plain


def _say(session: SessionDraft, lines: list[str], ref: str) -> None:
    """Adds the person's text; a command alone gives no title.

    aider writes what follows ``/ask`` and the like twice, with the command and without.
    """
    again = {line.strip() for line in lines}
    lines = [line for line in lines if not (line.startswith(_SAYS) and line.partition(" ")[2].strip() in again)]
    said = next((line for line in lines if line.strip() and (line[0] != "/" or line.startswith(_SAYS))), None)
    session.say("user", "\n".join(lines), ref)
    session.title = session.title or said


def _applied_paths(lines: list[str]) -> list[str]:
    """Paths of the files that aider reports as edited, in its order."""
    return list(dict.fromkeys(line.removeprefix(_APPLIED).strip() for line in lines if line.startswith(_APPLIED)))


def _answer(session: SessionDraft, text: str, ref: str, applied: list[str]) -> None:
    draft = session.respond(None, ref)
    if "<think" in text:
        for thought in _THINKING.finditer(text):
            draft.add_reasoning(thought[2].strip())
        text = _THINKING.sub("", text).strip()
    if not applied:
        draft.add_text(text)
        return
    left, edits = cut_edits(text, applied)
    draft.add_text(left)
    for edit in edits:
        session.call(draft, None, "edit" if edit.content is None else "write", edit.arguments())


def _output(session: SessionDraft, lines: list[str], ref: str) -> None:
    """Adds aider's output: each edit gets the lines up to its report as its result, the last edit all of them."""
    for line in lines:
        _note(session, line)
    last = session.drafts[-1] if session.drafts else None
    calls = last.calls if last is not None and last.role == "assistant" else []
    if not calls:
        session.result(None, "\n".join(lines), ref)
        return
    first: dict[str, int] = {}
    for end, line in enumerate(lines, 1):
        if line.startswith(_APPLIED):
            first.setdefault(line.removeprefix(_APPLIED).strip(), end)
    ends = list(first.values())
    ends[-1] = len(lines)
    begin = 0
    for call, end in zip(list(calls), ends, strict=True):
        draft = session.result(call.id, "\n".join(lines[begin:end]), ref, name=call.name)
        if draft is not None:
            draft.is_error = False  # what failed further down is a test or a linter
        begin = end


def _note(session: SessionDraft, line: str) -> None:
    """Keeps up with model, tokens and cost."""
    line = line[:_LONGEST_NOTE]
    if session.model is None and (model := _MODEL.match(line)):
        session.model = model[1].rstrip("⚡,")
    if used := _TOKENS.match(line):
        sent, hit, received = (_count(part) for part in used.groups())
        session.use(None, make_usage(sent, received, hit))
    if "Cost: " in line and (cost := _COST.search(line)):
        session.use("cost of the session", make_usage(cost=_number(cost[1])))


def _number(text: str | None) -> float | None:
    """Parse `12,566`, `29k` or `0.0019`; None if the text is no number."""
    try:
        return float((text or "").rstrip(".k").replace(",", "")) * (1000 if "k" in (text or "") else 1)
    except ValueError:
        return None


def _count(text: str | None) -> int | None:
    number = _number(text)
    return None if number is None else round(number)


FORMAT = SourceFormat(
    NAME,
    "Aider's chat history (.aider.chat.history.md), a session for each chat",
    "a line `# aider chat started at <time>`",
    detect,
    read,
    order=150,
    suffixes=(),
    shared_suffixes=(".md",),
    hidden=re.compile(r"\.aider\.chat\.history[\w.-]*\.md(?:\.gz|\.zst)?\Z"),
)
