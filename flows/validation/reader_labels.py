"""Files of careful readers' labels, and the embedded engine's figures for the same statements and answers.

Statements: a reader wrote what is true at a point, and said for each context how far it can be known from it, 0 to 1.
Answers: a reader answered questions from a context alone, and graded the answers from 0 to 5. The contexts that they
read are in files of their own. All are JSON lines, plain or gzipped (docs/calibration.md has the columns).
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import orjson

from compaction import Message, ToolCall, Transcript
from compaction.measures.needs import SessionNeeds
from compaction.recognition import Claim, Matcher, TextIndex
from flows.reporting.reader_agreement import Pair
from flows.support.errors import UsageError
from judge.given_files import read_given
from judge.measures.kept_files import KeptFiles
from judge.measures.states import ContextReader
from judge.statement import Statement, StatementKind

T = TypeVar("T")

MOST_BYTES = 500_000_000
"""Of a file of labels or contexts."""
UNTOUCHED = "none"
"""The method whose context is the history itself."""

Contexts = Mapping[str, Mapping[str, Sequence[Message]]]
"""Point → method → what it made of the history."""

_LISTS: dict[str, StatementKind] = {
    "created": "file_created",
    "modified": "file_modified",
    "deleted": "file_deleted",
    "open": "open_task",
    "failing": "failing_test",
    "next": "next_step",
}
_TYPES: dict[str, StatementKind] = {"recall": "error", "decision": "decision", "constraint": "constraint"}
_LIST_LINE = re.compile(r"\s*(created|modified|deleted|examined|open|failing|next):\s*(.*)", re.IGNORECASE | re.DOTALL)
_ITEMS = re.compile(r";\s+(?![^()]*\))")
_FILE = re.compile(r"(.*?)\s*(?:\(([^()]*)\))?", re.DOTALL)


def read_contexts(paths: Sequence[Path]) -> Contexts:
    """The contexts of one or more files. Raises UsageError for what cannot be read."""
    found: dict[str, dict[str, Sequence[Message]]] = defaultdict(dict)
    for path in paths:
        for point, method, messages in _rows(path, lambda row: (_point(row), _method(row), _messages(row))):
            found[point][method] = messages
    return found


def pair_statements(path: Path, contexts: Contexts) -> list[Pair]:
    """Readers' labels of true statements beside their support in the same contexts. Raises UsageError."""
    rows = _of_points(path, _rows(path, lambda row: (_point(row), _method(row), _claim(row), row)), contexts)
    pairs = []
    for point, labels in rows.items():
        history, made = contexts[point][UNTOUCHED], contexts[point]
        matcher = Matcher(history, TextIndex(history, made.values())).at(len(history), list(made.values()))
        supports: dict[Claim, dict[str, float]] = {}
        for method, claim, row in labels:
            if row.get("foil_of"):
                continue
            if claim not in supports:
                supports[claim] = {name: one.support for name, one in zip(made, matcher.find(claim), strict=True)}
            pairs.append(Pair(method, str(row.get("kind", "")), float(row["support"]), supports[claim][method]))
    return pairs


def pair_answers(path: Path, contexts: Contexts) -> list[Pair]:
    """Pair readers' grades of their answers with 5 times the mean support of the truth's statements. Raises UsageError.

    Files that were only looked at are left out of a truth, because the embedded prober does not ask for them.
    """
    rows = _of_points(path, _rows(path, lambda row: (_point(row), _method(row), _truth(row), row)), contexts)
    pairs = []
    for point, answers in rows.items():
        history, made = contexts[point][UNTOUCHED], contexts[point]
        files = KeptFiles(SessionNeeds(Transcript(point, tuple(history))))
        told = [files.told(context, len(history)) for context in made.values()]
        reader = ContextReader(history, made.values())
        scores: dict[tuple[Statement, ...], dict[str, float]] = {}
        for method, truth, row in answers:
            if not truth:
                continue
            if truth not in scores:
                states = reader.states(truth, len(history), list(made.values()), told, files.true(len(history)))
                scores[truth] = {
                    name: 5 * sum(state.support or 0.0 for state in of_context) / len(truth)
                    for name, of_context in zip(made, states, strict=True)
                }
            pairs.append(Pair(method, str(row["probe_type"]), float(row["reader_grade"]), scores[truth][method]))
    return pairs


def _rows(path: Path, read: Callable[[dict[str, Any]], T]) -> Iterator[T]:
    try:
        raw = read_given(path, MOST_BYTES)
        content = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    except (OSError, EOFError) as error:
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    for number, line in enumerate(content.splitlines(), 1):
        try:
            yield read(orjson.loads(line))
        except KeyError as error:
            raise UsageError(
                f"{path}, line {number}: expected a field {error.args[0]!r}; see docs/calibration.md"
            ) from None
        except (ValueError, TypeError, AttributeError):
            raise UsageError(f"{path}, line {number}: expected a JSON object as docs/calibration.md has it") from None


def _of_points(
    path: Path, rows: Iterator[tuple[str, str, T, dict[str, Any]]], contexts: Contexts
) -> dict[str, list[tuple[str, T, dict[str, Any]]]]:
    found: dict[str, list[tuple[str, T, dict[str, Any]]]] = defaultdict(list)
    for point, method, what, row in rows:
        for name in (UNTOUCHED, method):
            if name not in contexts.get(point, {}):
                raise UsageError(f"{path}: no context of method {name} at point {point}; name its file with --contexts")
        found[point].append((method, what, row))
    return found


def _point(row: Mapping[str, Any]) -> str:
    return str(row["point_id"] if "point_id" in row else row["point"])


def _method(row: Mapping[str, Any]) -> str:
    return str(row["context"] if "context" in row else row["method"])


def _messages(row: Mapping[str, Any]) -> list[Message]:
    held = row["messages"]
    return [_message(one) for one in (held["messages"] if isinstance(held, dict) else held)]


def _message(one: Mapping[str, Any]) -> Message:
    calls = one.get("tool_calls") or []
    return Message(
        one["role"],
        one.get("text") or "",
        one.get("reasoning") or "",
        tuple(
            ToolCall(call.get("id") or "", call["name"], _text(call["arguments"]))
            for call in (orjson.loads(calls) if isinstance(calls, str) else calls)
        ),
        tool_call_id=one.get("tool_call_id"),
        is_error=bool(one.get("is_error")),
        seq=one.get("seq"),
    )


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()


def _claim(row: Mapping[str, Any]) -> Claim:
    float(row["support"])
    return Claim(str(row["statement"]), tuple(row.get("evidence_seq") or ()))


def _truth(row: Mapping[str, Any]) -> tuple[Statement, ...]:
    float(row["reader_grade"])
    evidence = row.get("evidence") or []
    seqs = tuple(one["seq"] for one in (orjson.loads(evidence) if isinstance(evidence, str) else evidence))
    text = str(row["true_answer"] if "true_answer" in row else row["stated_truth"])
    return tuple(_statements(str(row["probe_type"]), text, seqs))


def _statements(probe_type: str, truth: str, seqs: tuple[int, ...]) -> Iterator[Statement]:
    """Yield a statement for each item of a line like ``Modified: a.py (f, g); b.py``, and for each other line."""
    for line in filter(str.strip, truth.splitlines()):
        listed = _LIST_LINE.fullmatch(line)
        if listed is None:
            yield Statement(_TYPES.get(probe_type, "request"), line.strip(), seqs)
            continue
        kind = _LISTS.get(listed[1].lower())
        for item in map(str.strip, _ITEMS.split(listed[2]) if kind else ()):
            if not item or item.lower() in ("none", "nothing") or kind is None:
                continue
            file = _FILE.fullmatch(item) if kind.startswith("file") else None
            if file is None:
                yield Statement(kind, item, seqs)
            else:
                names = tuple(name.strip() for name in (file[2] or "").split(",") if name.strip())
                yield Statement(kind, file[1].strip("` "), seqs, details=names)
