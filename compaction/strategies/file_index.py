"""A ledger of files that can be put on top of any other strategy; no model is asked."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from compaction.markers import SHORTENED, Marker
from compaction.parameters import Positive
from compaction.reading.file_effects import FileOp, Ledger, OpReader, ToolResults
from compaction.reading.file_paths import Roots, find_roots
from compaction.reading.message_facts import project_ops
from compaction.reading.prose import shorten
from compaction.registry import strategy
from compaction.strategies.shared.around import put_in, run_without
from compaction.strategy import History, Method
from compaction.transcript import Message

MARK = "[Files of this session, from its tool calls. Not all of these calls are still in the context.]"

MARKERS = (
    Marker(MARK, "files:"),
    Marker("- {path} (read): {n} lines shown", "- {path} (examined)", "line", made=True),
    Marker("- {path} (read)", "- {path} (examined)", "line", made=True),
    Marker("- {path} (moved): now {to}", "- {path} (deleted)\n- {to} (created)", "line", made=True),
    Marker("- {path} (created and deleted){more}", "- {path} (deleted){more}", "line", made=True),
    Marker("- and earlier: {counts}", SHORTENED, "line", made=True),
)

INDEX_TOKENS = 1000
"""About as much as the file section of a summary has, in published comparisons."""

MAX_NAMES = 6
"""Names that a line gives of what changed in a file."""
MAX_LINE = 300
"""Characters."""


@strategy(
    "file_index",
    version=2,
    wraps=("over", "af_py_sliding_window"),
    markers=MARKERS,
    bites={"over": "af_py_sliding_window(keep_last_groups=3)"},
    by_default=False,
)
def file_index(history: History, over: Method, *, index_tokens: Positive = INDEX_TOKENS) -> Sequence[Message]:
    """What another strategy (``over``) leaves, and a list of the files whose calls or results are gone from it.

    One line a file: path, what came of it (created, modified, deleted, read), names of what changed in it or how much
    of it was shown last. The list stands where the system prompt ends and is told from the tool calls of the whole
    session, so in a chain no file is forgotten. A file that a summary of the other strategy names is not listed
    again. Beyond ``index_tokens`` files that were only read go first, then the oldest changes, and a last line says
    how many. It stands for the calls that it tells of. A model is needed where the other strategy needs one.
    """
    left = run_without(history, over, MARK)
    found = _index(history, left, index_tokens)
    return left if found is None else put_in(history, left, found, MARK)


@dataclass(eq=False)
class _Files:
    """The operations on files, read message by message."""

    roots: Roots
    messages: list[Message] = field(default_factory=list)
    ops: list[FileOp] = field(default_factory=list)
    calls: dict[tuple[str, int], str] = field(default_factory=dict)
    """Path and message → the last call of the message that touched it."""

    def __post_init__(self) -> None:
        self._reader = OpReader(self.roots)

    def add(self, messages: Sequence[Message], results: ToolResults) -> None:
        """Adds more messages."""
        for message in messages:
            for part in [replace(message, tool_calls=(call,)) for call in message.tool_calls] or [message]:
                for op in self._reader.read(part, results.is_error, results.text):
                    self.ops.append(op)
                    for path in (op.path, op.moved_to):
                        if path is not None:
                            self.calls[path, op.seq] = part.tool_calls[0].id
            self.messages.append(message)


_last = [_Files(Roots())]
"""The session read last. A strategy is called once a point with no memory of the last, and reads on from here."""
_reading = threading.Lock()


def read_files(session: Sequence[Message], results: ToolResults) -> tuple[list[FileOp], dict[tuple[str, int], str]]:
    """Read the operations on a session's files, and the calls, from the last point on if it is the same session.

    Both are copies: another thread may read on to a later point.
    """
    roots = find_roots(session)
    with _reading:
        files = _last[0]
        begins_alike = all(ours is theirs for ours, theirs in zip(session, files.messages, strict=False))
        if files.roots != roots or len(files.messages) > len(session) or not begins_alike:
            files = _last[0] = _Files(roots)
        files.add(session[len(files.messages) :], results)
        return list(files.ops), dict(files.calls)


def _index(history: History, left: Sequence[Message], max_tokens: int) -> Message | None:
    """The list of the files whose calls or results are gone; None where there is nothing to say."""
    session = tuple(message for message in history.session if message.seq is not None)
    results = ToolResults(session)
    ops, calls = read_files(session, results)
    away = _away(ops, _find_gone(session, left, results))
    summaries = [message for message in left if message.seq is None and message.covers]
    told = {path for path, seqs in away.items() if _tells(summaries, path, seqs)}
    read, changed = _fates(ops)
    ordered = [
        (verb, op)
        for fates in (read, changed)
        for verb, op in sorted(fates, key=lambda fate: fate[1].seq)
        if op.path in away and op.path not in told and project_ops([op])
    ]
    if not ordered:
        return None
    lines = _within(history, [(verb, _line(verb, op, calls, results)) for verb, op in ordered], max_tokens)
    covers = sorted({seq for _, op in ordered for seq in away[op.path]})
    return Message("user", f"{MARK}\n\n" + "\n".join(lines), covers=tuple(covers))


def _fates(ops: Sequence[FileOp]) -> tuple[list[tuple[str, FileOp]], list[tuple[str, FileOp]]]:
    """Split files into those only read and the others, each with its fate and last operation."""
    ledger = Ledger().extend(ops)
    changed = [("created", op) for op in ledger.created.values()]
    changed += [("modified", op) for op in ledger.modified.values()]
    changed += [("deleted", op) for op in ledger.deleted.values()]
    changed += [("moved", op) for op in ledger.moved.values()]
    read = [("read", op) for op in ledger.examined.values()]
    known = {op.path for _, op in (*changed, *read)}
    last = {op.path: op for op in ops}
    changed += [("moved" if op.moved_to else "created and deleted", op) for op in last.values() if op.path not in known]
    return read, changed


def _away(ops: Sequence[FileOp], gone: set[int]) -> dict[str, set[int]]:
    """Path → ``seq`` of the operations on it that are gone; a file that was moved has those of its old name too."""
    away: dict[str, set[int]] = {}
    for op in ops:
        if op.seq in gone:
            away.setdefault(op.path, set()).add(op.seq)
        if op.moved_to is not None and op.path in away:
            away.setdefault(op.moved_to, set()).update(away[op.path])
    return away


def _find_gone(session: Sequence[Message], left: Sequence[Message], results: ToolResults) -> set[int]:
    """``seq`` of the messages whose calls, or whose results, are not in the context as they were."""
    stays = {message.seq: message for message in left}
    gone = set()
    for message in session:
        if message.tool_calls and message.seq is not None:
            ends = [results.get(call.id) for call in message.tool_calls]
            parts = [message, *(end for end in ends if end is not None)]
            if any(_differs(part, stays.get(part.seq)) for part in parts):
                gone.add(message.seq)
    return gone


def _differs(message: Message, now: Message | None) -> bool:
    return now is None or now.text != message.text or now.tool_calls != message.tool_calls


def _tells(summaries: Sequence[Message], path: str, seqs: set[int]) -> bool:
    """Whether a summary that stands for these operations names the file."""
    return any(path in summary.text and seqs.issubset(summary.covers) for summary in summaries)


def _line(verb: str, op: FileOp, calls: Mapping[tuple[str, int], str], results: ToolResults) -> str:
    if verb == "read":
        shown = results.text(calls.get((op.path, op.seq), ""))
        told = f": {shown.count(chr(10)) + 1} lines shown" if shown else ""
    elif verb == "moved":
        told = f": now {op.moved_to}"
    else:
        told = ": " + ", ".join(f"`{name}`" for name in op.details[:MAX_NAMES]) if op.details else ""
    return shorten(f"- {op.path} ({verb}){told}", MAX_LINE)


def _within(history: History, lines: Sequence[tuple[str, str]], max_tokens: int) -> list[str]:
    """List the last lines that fit, and count the others by the operation on the file."""
    room, first = max_tokens, len(lines)
    while first and (room := room - history.counter.count(lines[first - 1][1] + "\n")) >= 0:
        first -= 1
    kept = [line for _, line in lines[first:]]
    if first:
        verbs = [verb for verb, _ in lines[:first]]
        more = ", ".join(f"{verbs.count(verb)} {verb}" for verb in dict.fromkeys(verbs))
        kept.insert(0, f"- and earlier: {more}")
    return kept
