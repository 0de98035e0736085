"""Facts of one message, worked out once: commands, errors, runs, file operations.

The embedded engine reads the same messages at every point of a session and in every method's context. Contexts hold
the session's own message objects, so what was read is remembered by identity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from compaction.memo import Memo
from compaction.reading import file_effects, run_reports, tool_output
from compaction.reading.file_paths import Roots
from compaction.reading.tool_calls import shell_command
from compaction.transcript import Message

SHORT_RESULT = 200
"""Characters."""

MAX_READ = 200_000
"""Characters of one tool output that are searched for errors and test reports, from each end."""

_FOREIGN = re.compile(r"(?:~|/(?:home|Users)/[^/]+|/root)/\.|/(?:etc|usr|opt|var|proc|sys|Library|Applications)/")
"""Files outside of any project: hidden ones of a home directory, and the system's."""


class Reading:
    """One message, read on demand."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self._ops: dict[
            tuple[Roots, tuple[object, ...]], tuple[tuple[Message | None, ...], list[file_effects.FileOp]]
        ] = {}

    @cached_property
    def commands(self) -> list[tuple[str, str]]:
        """(call id, command line) of every shell call."""
        found = ((call.id, (shell_command(call) or "").strip()) for call in self.message.tool_calls)
        return [(id, command) for id, command in found if command]

    @cached_property
    def errors(self) -> list[tool_output.ErrorLine]:
        """Error messages in a tool's output, or in a person's pasted text."""
        if self.message.role not in ("tool", "user"):
            return []
        return tool_output.error_lines(self._ends)

    @cached_property
    def failing(self) -> list[tuple[str, str]]:
        """(test, reason) of every failing test that a tool's output reports."""
        return run_reports.failing_tests(self._ends) if self.message.role == "tool" else []

    @cached_property
    def totals(self) -> tuple[int, int] | None:
        """(passed, failed) of a test run's output."""
        return run_reports.test_totals(self._ends) if self.message.role == "tool" else None

    def ops(self, results: file_effects.ToolResults, roots: Roots) -> list[file_effects.FileOp]:
        """File operations of the message's calls, given how they ended in this context."""
        if not self.message.tool_calls:
            return []
        ends = tuple(results.get(call.id) for call in self.message.tool_calls)
        key = roots, tuple((end.is_error, _identity_key(end.text)) if end else None for end in ends)
        if key not in self._ops:
            # The results are kept beside what was made of them, so that the identities of their texts stay taken.
            reader = file_effects.OpReader(roots, remembers=False)
            self._ops[key] = ends, reader.read(self.message, results.is_error, results.text)
        return self._ops[key][1]

    @property
    def _ends(self) -> str:
        text = self.message.text
        return text if len(text) <= 2 * MAX_READ else text[:MAX_READ] + "\n" + text[-MAX_READ:]


def _identity_key(text: str) -> object:
    """Cache key of a text: the text itself if it is short (mostly masks), else its identity."""
    return text if len(text) < SHORT_RESULT else id(text)


_read: Memo[Reading] = Memo(32_000_000)


def read_message(message: Message) -> Reading:
    """The ``Reading`` of a message, cached within a bounded size."""
    return _read.of(Reading, message)


def context_ledger(messages: Sequence[Message], results: file_effects.ToolResults, roots: Roots) -> file_effects.Ledger:
    """The sum of the calls that are still in a context, read from the context alone.

    A file that was looked at and then written whole was there before, so it counts as modified.
    """
    ledger = file_effects.Ledger()
    for message in messages:
        if message.tool_calls:
            for op in read_message(message).ops(results, roots):
                seen = op.verb == "created" and op.path in ledger.examined
                ledger.extend([replace(op, verb="modified") if seen else op])
    return ledger


def project_ops(ops: Iterable[file_effects.FileOp]) -> list[file_effects.FileOp]:
    """The operations on files of the project: no scratch files, no settings of the machine or the agent."""
    return [op for op in ops if not op.scratch and not _FOREIGN.match(op.path)]
