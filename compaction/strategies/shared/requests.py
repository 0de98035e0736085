"""Requests of strategies to a summariser, and the use of its answers.

A prompt is a file in ``compaction/prompts``, named after its strategy; the project's own words, whatever system the
strategy follows. A user can give another (``compaction.instructions``). The messages are shown as numbered text,
because summarisers refuse tool calls without tools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from types import MappingProxyType

from compaction.model import BlankSummaryError, Section, SummaryRequest
from compaction.strategies.shared.parts import make_once
from compaction.strategy import History
from compaction.transcript import Message

EMPTY_SECTION = "- (none)"
"""What stands in a section that was left empty on purpose."""


def summary_request(
    history: History,
    prompt: str,
    span: Sequence[Message],
    *,
    sections: tuple[Section, ...],
    max_tokens: int,
    previous: str = "",
    result_chars: int | None = None,
) -> SummaryRequest:
    """The request for a summary of ``span``, merged into ``previous`` where there is one.

    ``prompt`` names the file. Tool results longer than ``result_chars`` characters are cut in the middle.
    """
    shown = tuple(_shorten_result(history, message, result_chars) for message in span)
    parts = [f"<previous_summary>\n{previous}\n</previous_summary>"] if previous else []
    parts.append(f"<messages>\n{render(shown)}\n</messages>")
    parts.append("Write the summary now. Answer with the summary and nothing else.")
    asked = (
        Message("system", instructions(history, prompt, sections, max_tokens)),
        Message("user", "\n\n".join(parts)),
    )
    return SummaryRequest(asked, shown, sections, previous, max_tokens)


def instructions(
    history: History,
    prompt: str,
    sections: Sequence[Section],
    max_tokens: int,
    *,
    material: Mapping[str, str] = MappingProxyType({}),
    **fields: str,
) -> str:
    """The instructions of a method, or the user's own in their place, and the user's focus behind them.

    ``prompt`` names the method's. ``material`` is what is to be summarised, by its name in the text, where the original
    has it in the same message as the instructions; it stands behind a text of the user's that does not name it.
    """
    own = history.instructions
    if not own.prompt_file:
        return own.add_focus(write_prompt(prompt, sections, max_tokens, **material, **fields))
    text = _fill(Template(own.prompt).safe_substitute, sections, max_tokens, {**material, **fields})
    unnamed = [name for name in material if name not in Template(own.prompt).get_identifiers()]
    return own.add_focus("\n\n".join([text, *(f"<{name}>\n{material[name]}\n</{name}>" for name in unnamed)]))


def write_prompt(prompt: str, sections: Sequence[Section], max_tokens: int, **fields: str) -> str:
    """Write a prompt with its sections' requests; ``fields`` are further names in the file."""
    return _fill(Template(_prompt(prompt)).substitute, sections, max_tokens, fields)


def _fill(
    substitute: Callable[..., str], sections: Sequence[Section], max_tokens: int, fields: Mapping[str, str]
) -> str:
    asks = "\n\n".join(f"## {section.title}\n{section.ask}" for section in sections)
    return substitute(fields, sections=asks, max_tokens=max_tokens, empty=EMPTY_SECTION)


def summary_or_empty(history: History, request: SummaryRequest, mode: str) -> str:
    """The summary; an empty text in the mode ``faithful`` of an original that goes on with an empty summary."""
    try:
        return history.summarize(request)
    except BlankSummaryError:
        if mode != "faithful":
            raise
        history.flag("blank_summary")
        return ""


def render(messages: Sequence[Message]) -> str:
    """Messages as text: number, role, thinking, text, and calls with their arguments."""
    return "\n\n".join(_message_text(number, message) for number, message in enumerate(messages, 1))


def with_all_sections(text: str, sections: Sequence[Section]) -> str:
    """A summary with every section in its order; one that is missing or blank says that it is empty.

    A heading that was not asked for stays where it is, as part of the section before it.
    """
    titles = {section.title.lower(): section.title for section in sections}
    blocks: dict[str, list[str]] = {"": []}
    current = ""
    for line in text.splitlines():
        title = titles.get(line.strip("# *:").lower()) if line.lstrip().startswith(("#", "**")) else None
        if title is None:
            blocks[current].append(line)
        else:
            current = title
            blocks.setdefault(current, [])
    opening = "\n".join(blocks[""]).strip()
    bodies = {s.title: "\n".join(blocks.get(s.title, ())).strip() or EMPTY_SECTION for s in sections}
    found = [f"## {title}\n{body}" for title, body in bodies.items()]
    return "\n\n".join([opening, *found] if opening else found)


@cache
def _prompt(name: str) -> str:
    return files("compaction").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip()


def _shorten_result(history: History, message: Message, result_chars: int | None) -> Message:
    if result_chars is None or message.role != "tool" or len(message.text) <= result_chars:
        return message

    return make_once(history.counter, _cut, message, result_chars)


def _cut(message: Message, result_chars: int) -> Message:
    head, tail = result_chars - result_chars // 3, result_chars // 3
    cut = f"\n[… {len(message.text) - result_chars} characters cut …]\n"
    return message.with_text(message.text[:head] + cut + message.text[len(message.text) - tail :])


def _message_text(number: int, message: Message) -> str:
    label: str = message.role
    if message.role == "tool":
        label += f" result of {message.tool_name}" if message.tool_name else " result"
        label += " (error)" if message.is_error else ""
    elif message.seq is None and message.covers:
        label += " (summary of earlier messages)"
    parts = [f"[{number}] {label}"]
    if message.reasoning:
        parts.append(f"(thinking) {message.reasoning}")
    if message.text:
        parts.append(message.text)
    parts += [f"(calls) {call.name} {call.arguments}" for call in message.tool_calls]
    return "\n".join(parts)
