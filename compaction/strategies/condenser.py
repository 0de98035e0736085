"""A summary between the first and the last messages, as an article on condensers draws it."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.markers import headings, wrapper
from compaction.model import Section
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.notes import shown_before
from compaction.strategies.shared.parts import is_made, needs_from, stands_for, tail_start, whole_cuts
from compaction.strategies.shared.requests import summary_request
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

MARK = "[Memory of what came before]"

SECTIONS = (
    Section("USER_CONTEXT", ("intent",), "What the user wants, with every requirement and clarification."),
    Section("COMPLETED", ("decisions",), "What was done so far, and what came of it."),
    Section("PENDING", ("next_steps",), "What is still to be done or to be checked."),
    Section("CODE_STATE", ("details", "state"), "Where in the code the work stands: files, functions, values."),
    Section("TESTS", ("errors",), "Tests that fail or pass, with the line and the message."),
    Section("CHANGES", ("files",), "What was changed in which file."),
)


def _limit(history: History, *, max_input_tokens: int, **_: object) -> int:
    return max_input_tokens


@strategy(
    "condenser_summary",
    needs_model=True,
    peer="article",
    peer_version="undated",
    markers=(*wrapper(MARK), *headings(SECTIONS)),
    limit=_limit,
    by_default=False,
    bites={"head": 1, "tail": 3},
)
def condenser_summary(
    history: History,
    *,
    head: int = 2,
    tail: int = 8,
    max_input_tokens: Positive = 96_000,
    summary_tokens: Positive = SUMMARY_TOKENS,
) -> Sequence[Message]:
    """The first ``head`` and the last ``tail`` messages, and a memory of those between, into which the last one goes.

    Where the whole then has more than ``max_input_tokens``, the oldest of the last messages go, and the memory is
    spared. Both ends move so that no call is parted from its result. The article gives the memory a role of its own,
    ``memory``, which no provider takes: here it is a user message. Sections as drawn, the prompt is ours.
    """
    messages = history.messages
    made = next((i for i, message in enumerate(messages) if is_made(message, MARK)), None)
    legal = whole_cuts(messages)
    first = min(position for position in legal if position >= min(head, len(messages))) if made is None else made
    last = max((position for position in legal if position <= len(messages) - tail), default=0)
    previous = messages[first : first + 1] if made is not None else ()
    span = messages[first + len(previous) : last]
    if not span:
        return messages
    text = previous[0].text.removeprefix(MARK).strip() if previous else ""
    request = summary_request(
        history, "condenser_summary", span, sections=SECTIONS, max_tokens=summary_tokens, previous=text
    )
    task = next((message.text for message in messages[:first] if message.role == "user"), "")
    if task:
        request = shown_before(request, f"<task>\n{task}\n</task>")
    memory = Message("user", f"{MARK}\n\n{history.summarize(request)}", covers=stands_for((*previous, *span)))
    kept = (*messages[:first], memory)
    room = max_input_tokens - history.count(kept)
    start = tail_start(history, needs_from(history), last, len(messages), room)
    return (*kept, *messages[start:])
