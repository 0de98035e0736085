"""What one message says, worked out once: sentences, decisions, commands, errors, file operations.

The embedded engine reads the same messages at every point of a session and in every method's context. Contexts hold
the session's own message objects, so what was read is remembered by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from compaction import artifacts, outputs, todos
from compaction.transcript import Message, ToolCall
from compaction.words import is_decision, sentences

MAX_REMEMBERED = 100_000
"""Messages; beyond that everything is forgotten and read again when asked for."""

MAX_READ = 200_000
"""Characters of one tool output that are searched for errors and versions, from each end."""

_COMMAND_KEYS = ("command", "cmd", "script", "code")


class Reading:
    """One message, read on demand."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self._ops: dict[frozenset[str], list[artifacts.FileOp]] = {}

    @cached_property
    def sentences(self) -> list[str]:
        """Prose of a person's or an agent's message, reasoning first; nothing for tool output."""
        if self.message.role not in ("user", "assistant"):
            return []
        spoken = sentences(self.message.text)
        return sentences(self.message.reasoning) + spoken if self.message.reasoning else spoken

    @cached_property
    def decisions(self) -> list[str]:
        """Sentences that say what was chosen and why."""
        return [sentence for sentence in self.sentences if is_decision(sentence)]

    @cached_property
    def commands(self) -> list[tuple[str, str]]:
        """(call id, command line) of every shell call."""
        return [(call.id, text) for call in self.message.tool_calls if (text := shell_text(call))]

    @cached_property
    def errors(self) -> list[outputs.ErrorLine]:
        """Error messages in a tool's output, or in what a person pasted."""
        if self.message.role not in ("tool", "user"):
            return []
        return outputs.error_lines(self._ends)

    @cached_property
    def failing(self) -> list[tuple[str, str]]:
        """(test, reason) of every failing test that a tool's output reports."""
        return outputs.failing_tests(self._ends) if self.message.role == "tool" else []

    @cached_property
    def totals(self) -> tuple[int, int] | None:
        """(passed, failed) of a test run's output."""
        return outputs.test_totals(self._ends) if self.message.role == "tool" else None

    @cached_property
    def versions(self) -> list[tuple[str, str]]:
        """(name, version) that a tool's output states."""
        return outputs.versions(self._ends) if self.message.role == "tool" else []

    @cached_property
    def todos(self) -> todos.TodoList | None:
        """The to-do list that the message sets."""
        return todos.message_todos(self.message)

    def ops(self, failed: Callable[[str], bool]) -> list[artifacts.FileOp]:
        """File operations of the message's calls; ``failed`` tells which calls came to nothing."""
        if not self.message.tool_calls:
            return []
        key = frozenset(call.id for call in self.message.tool_calls if failed(call.id))
        if key not in self._ops:
            self._ops[key] = artifacts.message_ops(self.message, key.__contains__)
        return self._ops[key]

    @property
    def _ends(self) -> str:
        text = self.message.text
        return text if len(text) <= 2 * MAX_READ else text[:MAX_READ] + "\n" + text[-MAX_READ:]


_remembered: dict[int, Reading] = {}


def read(message: Message) -> Reading:
    """The reading of a message, remembered as long as there is room."""
    reading = _remembered.get(id(message))
    if reading is None:
        if len(_remembered) >= MAX_REMEMBERED:
            _remembered.clear()
        reading = _remembered[id(message)] = Reading(message)
    return reading


def shell_text(call: ToolCall) -> str:
    """The command line of a shell call; empty for any other tool."""
    arguments = call.parsed()
    for key in _COMMAND_KEYS:
        value = arguments.get(key)
        if isinstance(value, list):
            words = [str(word) for word in value]
            return words[-1] if len(words) >= 3 and words[-2].startswith("-") and "c" in words[-2] else " ".join(words)
        if isinstance(value, str) and value.strip():
            return value.strip() if "path" not in arguments else ""
    return ""


def results_by_call(messages: Sequence[Message]) -> Mapping[str, Message]:
    """The first result of each call."""
    found: dict[str, Message] = {}
    for message in messages:
        if message.role == "tool" and message.tool_call_id is not None:
            found.setdefault(message.tool_call_id, message)
    return found


def failed_calls(messages: Sequence[Message]) -> Callable[[str], bool]:
    """Tells of a call id whether its result is an error."""
    failed = {m.tool_call_id for m in messages if m.role == "tool" and m.is_error}
    return failed.__contains__


def iter_readings(messages: Sequence[Message]) -> Iterator[Reading]:
    """Readings in order."""
    return map(read, messages)
