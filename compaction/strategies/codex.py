"""Codex's local compaction: the user's own words and a summary of everything, nothing else.

Read from openai/codex, ``core/src/compact.rs`` at 0100b10, with the truncation and the marks of injected messages of
the versions around it. Tokens are Codex's own: a quarter of a text's UTF-8 bytes, since the truncation marker states
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from compaction.groups import declarations
from compaction.markers import headings, shortened, wrapper
from compaction.model import ContextOverflowError, Section
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.originals import quarter_tokens
from compaction.strategies.shared.parts import make_once, stands_for, system_prompt, with_text
from compaction.strategies.shared.requests import summary_or_empty, summary_request
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

PEER = "codex"
VERSION = "0100b10"

USER_TOKENS = 20_000
"""``COMPACT_USER_MESSAGE_MAX_TOKENS``."""

SUMMARY_PREFIX = (
    "Another language model started to solve this problem and produced a summary of its thinking process. You also "
    "have access to the state of the tools that were used by that language model. Use this to build on the work that "
    "has already been done and avoid duplicating work. Here is the summary produced by the other language model, use "
    "the information in this summary to  assist with your own analysis:"
)
"""The mark by which Codex knows its own summaries (``summary_prefix.md``), two spaces included."""

SECTIONS = (
    Section("Goal", ("intent",), "What the user wants to have in the end."),
    Section(
        "Progress and decisions",
        ("state", "files", "decisions"),
        "How far the work is, what was changed where, and what was decided and why.",
    ),
    Section("Constraints and preferences", (), "Context, limits and wishes of the user that still hold."),
    Section("Remaining work", ("next_steps",), "What is left to do, as clear next steps."),
    Section("Critical data", ("details", "errors"), "Data, examples and references that are needed to continue."),
)

MARKERS = (
    *wrapper(SUMMARY_PREFIX),
    *shortened("…{n} tokens truncated…"),
    *headings(SECTIONS, Constraints_and_preferences="intent"),
)

_INJECTED = (
    ("# agents.md instructions", "</instructions>"),
    ("<user_instructions>", "</user_instructions>"),
    ("<environment_context>", "</environment_context>"),
    ("<skill>", "</skill>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
    ("<additional_context>", "</additional_context>"),
)
_ENDS = tuple(end for _, end in _INJECTED)
_WARNINGS = (
    "Warning: The maximum number of unified exec processes you can keep open is",
    "Warning: apply_patch was requested via ",
    "Warning: Your account was flagged for potentially high-risk cyber activity",
)


@strategy("codex_local", needs_model=True, peer=PEER, peer_version=VERSION, markers=MARKERS, bites={"user_tokens": 6})
def codex_local(
    history: History,
    *,
    user_tokens: int = USER_TOKENS,
    summary_tokens: Positive = SUMMARY_TOKENS,
    mode: Literal["faithful", "valid"] = "valid",
) -> Sequence[Message]:
    """The newest user messages within ``user_tokens``, word for word, and one summary of the whole history.

    The initial context stays in front: the leading system messages and what Codex injected before the first real
    request. Of the user messages the one that does not fit is cut in its middle, and none before it stays; earlier
    summaries are told by their prefix and are no user messages. Everything else goes. The summariser is shown all of
    it; when that is more than it takes, the oldest message is left out, with the results of its calls, and it is
    asked again: what was left out is dropped, not covered. ``faithful`` takes a blank summary, as Codex does.
    """
    messages = history.messages
    start = _initial_context(messages)
    prompt = len(system_prompt(messages))
    if start == len(messages):
        return messages
    text, span = _summarize(history, messages[prompt:], summary_tokens, mode)
    users = [m for m in messages[start:] if m.role == "user" and not is_injected(m.text) and not is_summary(m.text)]
    summary = Message("user", f"{SUMMARY_PREFIX}\n{text}", covers=stands_for(span))
    return (*messages[:start], *_newest(history, users, user_tokens), summary)


def is_summary(text: str) -> bool:
    """Whether a user message is a summary that Codex wrote."""
    return text.startswith(f"{SUMMARY_PREFIX}\n")


def is_injected(text: str) -> bool:
    """Whether Codex itself put a user message there.

    Codex looks at each content item, and one is enough; here they are joined, so a message counts that begins as one
    such item and ends as any of them.
    """
    head, tail = text[:200].lstrip().lower(), text[-200:].rstrip().lower()
    injected = any(head.startswith(start) for start, _ in _INJECTED) and tail.endswith(_ENDS)
    return injected or text.startswith(_WARNINGS)


def cut_middle(text: str, max_tokens: int) -> str:
    """A text longer than ``max_tokens`` with its middle replaced by the number of tokens that are missing.

    Half of the bytes from either end; characters are never split, so it may be a little less.
    """
    raw = text.encode("utf-8", "surrogatepass")
    room = 4 * max_tokens
    if not raw or (max_tokens > 0 and len(raw) <= room):
        return text
    end, start = room // 2, len(raw) - (room - room // 2)
    while end > 0 and _continues(raw, end):
        end -= 1
    while start < len(raw) and _continues(raw, start):
        start += 1
    head, tail = (part.decode("utf-8", "surrogatepass") for part in (raw[:end], raw[max(start, end) :]))
    return f"{head}…{quarter_tokens(len(raw) - room)} tokens truncated…{tail}"


def _continues(raw: bytes, position: int) -> bool:
    """Whether a character continues at this byte."""
    return position < len(raw) and raw[position] & 0xC0 == 0x80


def _initial_context(messages: Sequence[Message]) -> int:
    """Number of messages in front that are instructions or injected context."""
    for position, message in enumerate(messages):
        instructs = message.role == "system" or (message.role == "user" and is_injected(message.text))
        if message.seq is None or not instructs:
            return position
    return len(messages)


def _newest(history: History, users: Sequence[Message], max_tokens: int) -> list[Message]:
    kept: list[Message] = []
    left = max_tokens
    for message in reversed(users):
        if left == 0:
            break
        tokens = quarter_tokens(len(message.text.encode("utf-8", "surrogatepass")))
        if tokens > left:
            kept.append(make_once(history.counter, with_text, message, cut_middle(message.text, left)))
            break
        kept.append(message)
        left -= tokens
    return kept[::-1]


def _summarize(
    history: History, span: tuple[Message, ...], max_tokens: int, mode: str
) -> tuple[str, tuple[Message, ...]]:
    """The summary, and the messages that the summariser saw of it."""
    while True:
        request = summary_request(history, "codex_local", span, sections=SECTIONS, max_tokens=max_tokens)
        try:
            return summary_or_empty(history, request, mode), span
        except ContextOverflowError:
            if not span:
                raise
            span = _without_oldest(span)
            history.flag("summary_input_trimmed")


def _without_oldest(span: Sequence[Message]) -> tuple[Message, ...]:
    asked = declarations(span)
    return tuple(m for i, m in enumerate(span) if i and asked[i] != 0)
