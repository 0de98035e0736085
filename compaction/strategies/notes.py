"""Notes that an agent takes of what leaves its context: an approximation, since the stored session took none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from compaction.markers import SHORTENED, Marker, headings, wrapper
from compaction.model import Section, SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import (
    compaction_cuts,
    is_made,
    needs_from,
    stands_for,
    system_prompt,
    tail_start,
)
from compaction.strategies.shared.requests import EMPTY_SECTION, summary_request, with_all_sections
from compaction.strategies.summaries import TAIL_SHARE
from compaction.strategy import History
from compaction.transcript import Message, ToolCall

MARK = "[Notes from the parts of the conversation that are no longer in the context.]"
CUT_LINE = "- (older notes are left out)"

NOTES_TOKENS = 500
"""Asked for at each compaction. Ours, as all figures here."""
ALL_NOTES_TOKENS = 3000

OPEN = "Open points"
SECTIONS = (
    Section("Requests", ("intent",), "What the user asked for and the rules that the user set, beyond the task."),
    Section("Files", ("files",), "Path, what was done to it, and the names that changed: `- path (modified): names`."),
    Section(
        "Findings", ("decisions", "errors", "details"), "Decisions with reasons, errors with causes, exact values."
    ),
    Section(OPEN, ("next_steps",), "What is unfinished or fails now."),
)

MARKERS = (*wrapper(MARK), Marker(CUT_LINE, SHORTENED, "line"), *headings(SECTIONS))

Notes = dict[str, list[str]]
"""The lines of each section, by its title."""


@strategy("structured_notes", needs_model=True, markers=MARKERS)
def structured_notes(
    history: History,
    *,
    notes_tokens: Positive = NOTES_TOKENS,
    all_notes_tokens: Positive = ALL_NOTES_TOKENS,
    tail_tokens: int | None = None,
    result_chars: Positive | None = None,
    read_back: bool = False,
) -> Sequence[Message]:
    """Approximation of an agent's notes: the task, notes extracted from what was dropped, and the newest messages.

    At each compaction a model notes down, in ``notes_tokens``, what the leaving messages say and the notes do not.
    Lines once written stay word for word, except for the open points, of which the newest hold. Beyond
    ``all_notes_tokens`` the oldest lines are left out of the context. Real agents choose while they work what to note
    and when to look it up again; here all notes are in the context: as a message, or with ``read_back`` as the result
    of a call that reads them. The newest whole groups within ``tail_tokens`` (a tenth of the budget) stay.
    """
    messages = history.messages
    start, task = find_opening(messages, MARK)
    earlier = messages[start - 1] if start and is_made(messages[start - 1], MARK) else None
    notes = read_sections(earlier.text.removeprefix(MARK), SECTIONS) if earlier else {}
    covered: list[Message] = [earlier] if earlier else []
    tail = start
    for span, cut in leaving_messages(history, start, task, tail_tokens):
        add_notes(history, "structured_notes", notes, span, max_tokens=notes_tokens, result_chars=result_chars)
        covered += span
        tail = cut
    if tail == start:
        return messages
    text, covers = write_notes(history, notes, all_notes_tokens), stands_for(covered)
    told = call_for_notes(text, covers) if read_back else (Message("user", text, covers=covers),)
    return (*_kept_messages(messages, task, tail), *told, *messages[tail:])


def add_notes(
    history: History,
    prompt: str,
    notes: Notes,
    span: Sequence[Message],
    *,
    max_tokens: int,
    result_chars: int | None = None,
) -> None:
    """Add to the notes what a model notes down of these messages; ``prompt`` names its instructions."""
    request = summary_request(
        history, prompt, span, sections=SECTIONS, max_tokens=max_tokens, result_chars=result_chars
    )
    if any(notes.values()):
        request = shown_before(request, f"<notes>\n{_write_sections(notes)}\n</notes>")
    for title, lines in read_sections(history.summarize(request), SECTIONS).items():
        known = [] if title == OPEN else notes.get(title, [])
        notes[title] = list(dict.fromkeys([*known, *lines]))


def write_notes(history: History, notes: Notes, max_tokens: int) -> str:
    """The notes as they stand in a context: marked, and without their oldest lines where they are too long."""
    return f"{MARK}\n\n{_write_sections(_within(history, notes, max_tokens))}"


def call_for_notes(text: str, covers: tuple[int, ...]) -> tuple[Message, Message]:
    """A call of Anthropic's memory tool that reads the notes, and its result."""
    call = ToolCall("memory", "memory", '{"command": "view", "path": "/memories/notes.md"}')
    return (
        Message("assistant", tool_calls=(call,), covers=covers),
        Message("tool", text, tool_call_id=call.id, tool_name=call.name, covers=covers),
    )


def find_opening(messages: Sequence[Message], mark: str) -> tuple[int, int | None]:
    """Find the start of the uncompacted messages, and the task: the first user message."""
    made = [position for position, message in enumerate(messages) if is_made(message, mark)]
    start = made[-1] + 1 if made else len(system_prompt(messages))
    asked = (p for p, message in enumerate(messages) if message.role == "user" and message.seq is not None)
    return start, next(asked, None)


def leaving_messages(
    history: History, start: int, task: int | None, tail_tokens: int | None
) -> Iterator[tuple[tuple[Message, ...], int]]:
    """Yield the leaving messages and the end of each compaction that the session still lacks.

    The system prompt, what was made of earlier messages, and the task do not leave. With the first go messages that
    stand between these.
    """
    messages, needed = history.messages, needs_from(history)
    room = int(history.budget * TAIL_SHARE) if tail_tokens is None else tail_tokens
    begin, first = start, len(system_prompt(messages))
    for end in compaction_cuts(history, start):
        cut = tail_start(history, needed, begin, end, room)
        positions = [p for p in range(first, cut) if p != task and (p >= begin or messages[p].seq is not None)]
        if cut > begin and positions:
            yield tuple(messages[p] for p in positions), cut
            first = begin = cut


def _kept_messages(messages: Sequence[Message], task: int | None, tail: int) -> tuple[Message, ...]:
    """The system prompt, and the task where the tail does not hold it."""
    before = (messages[task],) if task is not None and task < tail else ()
    return (*system_prompt(messages), *before)


def shown_before(request: SummaryRequest, text: str) -> SummaryRequest:
    """The request with a text before the messages that are shown."""
    *rest, shown = request.prompt
    return replace(request, prompt=(*rest, shown.with_text(f"{text}\n\n{shown.text}")))


def read_sections(text: str, sections: Sequence[Section]) -> Notes:
    """Split the lines of a summary by section; lines before the first heading belong to the first section."""
    found: Notes = {section.title: [] for section in sections}
    title = sections[0].title
    for line in with_all_sections(text, sections).splitlines():
        heading = line.removeprefix("## ")
        if line.startswith("## ") and heading in found:
            title = heading
        elif line.strip() and line not in (EMPTY_SECTION, CUT_LINE):
            found[title].append(line.rstrip())
    return found


def _write_sections(notes: Notes) -> str:
    bodies = {section.title: "\n".join(notes.get(section.title, ())) or EMPTY_SECTION for section in SECTIONS}
    return "\n\n".join(f"## {title}\n{body}" for title, body in bodies.items())


def _within(history: History, notes: Notes, max_tokens: int) -> Notes:
    """The notes without the oldest lines of the longest sections, if they are too long."""
    costs = {title: [history.counter.count(line + "\n") for line in lines] for title, lines in notes.items()}
    first = dict.fromkeys(notes, 0)
    left = sum(map(sum, costs.values()))
    while left > max_tokens:
        title = max(first, key=lambda section: sum(costs[section][first[section] :]))
        left -= costs[title][first[title]]
        first[title] += 1
    if not any(first.values()):
        return notes
    history.flag("notes_cut")
    return {title: [CUT_LINE][: first[title]] + lines[first[title] :] for title, lines in notes.items()}
