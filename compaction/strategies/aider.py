"""Aider 0.86.2: ``ChatSummary``.

Aider's assistant has no tools: what it writes and runs stands in its text and in the user's answer. Here an assistant
message with its calls, and the results behind it, count as one message of the assistant's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from compaction.markers import Marker, wrapper
from compaction.model import SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import stands_for, system_prompt, without_reasoning
from compaction.strategies.shared.requests import instructions
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

PREFIX = "I spoke to you previously about a number of things.\n"
ACKNOWLEDGED = "Ok."
LEAST_TOKENS, MOST_TOKENS = 1024, 8192
"""Within which a sixteenth of the model's window is taken."""
MIN_SPLIT = 4
MAX_DEPTH = 3
RESERVE = 512
"""Tokens of the summariser's window that are not filled with messages."""


@strategy(
    "aider_chat_summary",
    needs_model=True,
    peer="aider-chat",
    peer_version="0.86.2",
    by_default=False,
    markers=(*wrapper(PREFIX.rstrip()), Marker(ACKNOWLEDGED, place="whole", made=True)),
    bites={"max_tokens": 60},
)
def aider_chat_summary(
    history: History,
    *,
    max_tokens: Positive | None = None,
    input_tokens: Positive | None = None,
    summary_tokens: Positive = SUMMARY_TOKENS,
) -> Sequence[Message]:
    """A summary in the user's words, and the newest messages within half of ``max_tokens``.

    Without a figure these are a sixteenth of the budget, at least 1024 and at most 8192; up to there nothing is done.
    What is summarised ends with an assistant message. With ``input_tokens``, the window of the original's summariser,
    it is shown no more than these less 512, from the start on, and the rest is lost. Where the summary and the rest
    are still too much they are summarised again, three times at most and then as a whole, as are four messages or
    fewer. Where the last message is not the assistant's an ``Ok.`` follows. Neither reasoning nor later system
    messages are shown; where nothing is left to show nothing is done.
    """
    apart = system_prompt(history.messages)
    most = max_tokens or min(max(history.budget // 16, LEAST_TOKENS), MOST_TOKENS)
    messages = spoken_messages(history.messages[len(apart) :])
    room = None if input_tokens is None else max(0, input_tokens - RESERVE)
    left = _Summary(history, most, room, summary_tokens).shorten(messages, 0)
    if left is messages or left is None:
        return history.messages
    if not _is_assistants(left[-1]):
        left = [*left, [Message("assistant", ACKNOWLEDGED, covers=stands_for(left[0]))]]
    return (*apart, *(message for spoken in left for message in spoken))


Spoken = list[Message]


def spoken_messages(messages: Sequence[Message]) -> list[Spoken]:
    """The messages, each of the assistant's together with the results that follow it."""
    found: list[Spoken] = []
    for message in messages:
        if found and message.role == "tool" and _is_assistants(found[-1]):
            found[-1].append(message)
        else:
            found.append([message])
    return found


def _is_assistants(spoken: Spoken) -> bool:
    """Whether a message is the assistant's; results without a call in front are."""
    return spoken[0].role in ("assistant", "tool")


def write_messages(messages: Sequence[Spoken]) -> str:
    """The messages of user and assistant as the summariser is shown them, each under its role."""
    return "".join(
        f"# {role}\n{text}" + "\n" * (not text.endswith("\n")) for role, text in map(_role_and_text, messages) if role
    )


def _role_and_text(spoken: Spoken) -> tuple[str, str]:
    """The role and the text of a message; no role where it is not shown."""
    role = {"user": "USER", "system": ""}.get(spoken[0].role, "ASSISTANT")
    parts = [part for m in spoken for part in (m.text, *(f"{c.name} {c.arguments}" for c in m.tool_calls)) if part]
    return role, "\n".join(parts)


@dataclass(frozen=True)
class _Summary:
    history: History
    max_tokens: int
    room: int | None
    summary_tokens: int

    def shorten(self, messages: list[Spoken], depth: int) -> list[Spoken] | None:
        """A summary and the newest messages; the same list where nothing is to be done, None where nothing can be."""
        sizes = [self.history.count(spoken) for spoken in messages]
        if depth == 0 and (sum(sizes) <= self.max_tokens or not messages):
            return messages
        split = 0 if len(messages) <= MIN_SPLIT or depth > MAX_DEPTH else self._split(messages, sizes)
        if split <= MIN_SPLIT:
            whole = self._summarize(messages)
            return None if whole is None else [whole]
        fits = (self.room is None or tokens <= self.room for tokens in accumulate(sizes[:split]))
        summary = self._summarize(messages[: sum(fits)])
        if summary is None:
            return None
        left = [summary, *messages[split:]]
        if self.history.count(summary) + sum(sizes[split:]) < self.max_tokens:
            return left
        return self.shorten(left, depth + 1)

    def _split(self, messages: Sequence[Spoken], sizes: Sequence[int]) -> int:
        """Position of the newest messages within half of the tokens, moved back to behind an assistant message."""
        split, tokens = len(messages), 0
        while split > 0 and (tokens := tokens + sizes[split - 1]) < self.max_tokens // 2:
            split -= 1
        while split > 1 and not _is_assistants(messages[split - 1]):
            split -= 1
        return split

    def _summarize(self, messages: Sequence[Spoken]) -> Spoken | None:
        span = tuple(
            without_reasoning(self.history, m) for spoken in messages if _role_and_text(spoken)[0] for m in spoken
        )
        if not span:
            return None
        asked = (
            Message("system", instructions(self.history, "aider_chat_summary", (), self.summary_tokens)),
            Message("user", write_messages(messages)),
        )
        text = self.history.summarize(SummaryRequest(asked, span, (), max_tokens=self.summary_tokens))
        return [Message("user", PREFIX + text, covers=stands_for(span))]
