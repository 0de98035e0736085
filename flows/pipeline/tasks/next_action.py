"""Next actions of a slice of sessions: the model is asked from the whole history and from every context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import pyarrow as pa

from compaction import CallsStoppedError, Message, Transcript
from compaction.model import ModelError
from compaction.reading.file_paths import Roots, find_roots
from compaction.reading.tool_calls import opened_file, tool_name
from compaction.transcript import ToolCall
from flows.llm.calling_for import calling_for
from flows.pipeline.next_action_plan import Asking, NextActionJob, next_action_code_version
from flows.pipeline.tasks.task_context import (
    Contexts,
    SliceRows,
    Tally,
    TaskContext,
    recalled,
    session,
    unless_stopped,
    why,
)
from flows.sessions.buckets import Slice
from flows.sessions.session_parts import SessionInfo
from flows.store import parquet_schemas
from flows.support import event_log
from judge.measures.next_action import NO_CALL, Action, Comparison, compare_actions, read_action, seen_tools, taken_step

NO_TOOLS = "no tool was called before the point"
QUESTION = "Which tool call comes next?"
"""Asked of a method that fetches for a question."""

Row = dict[str, Any]


@dataclass(frozen=True)
class _AtPoint:
    """One point, with all that its askings have in common."""

    info: SessionInfo
    transcript: Transcript
    roots: Roots
    job: NextActionJob
    contexts: Mapping[str, tuple[Message, ...]]
    stored: Mapping[str, Row]

    @property
    def history(self) -> tuple[Message, ...]:
        return self.transcript.messages[: self.job.point.point.cut_seq]


def ask_next_actions(task: TaskContext, work: Slice[NextActionJob]) -> Tally:
    """Ask for the next action at points, and compare what was said with the whole history's and the session's own."""
    sessions = [info.session_id for info, _ in work.items]
    left, stored = Contexts(task.store, sessions), SliceRows(task.store.next_actions, "next_action_id", sessions)
    rows: list[Row] = []
    tally = Tally()

    def points() -> Iterator[_AtPoint]:
        for info, jobs in work.items:
            transcript = session(task.store, info)
            roots = find_roots(transcript.messages, transcript.cwd)
            for job in jobs:
                contexts = left.of(info, (one.compaction_id for one in job.contexts if one.compaction_id))
                known = stored.rows(one.next_action_id for one in job.full)
                yield _AtPoint(info, transcript, roots, job, contexts, known)

    def asked(at: _AtPoint) -> list[Row] | None:
        return _Asker(task, at).rows()

    for found in task.items.map(unless_stopped(asked), points(), lambda _: 1):
        if found is None:
            tally.leave()
            continue
        rows += found
        tally.add("failed" if any(row["status"] == "failed" for row in found) else "done")
        for row in found:
            _log(task, row)
    task.store.next_actions.write(pa.Table.from_pylist(rows, schema=parquet_schemas.NEXT_ACTIONS))
    return tally


def _log(task: TaskContext, row: Row) -> None:
    names = """next_action_id session_id point_id compaction_id repetition status model input_tokens output_tokens
    cost_usd seconds""".split()
    fields = {name: row.get(name) for name in names}
    task.items.log("next_action", **fields, error=event_log.unquoted_reason(row.get("error")))


class _Asker:
    """Asks at one point."""

    def __init__(self, task: TaskContext, at: _AtPoint) -> None:
        self._task, self._at = task, at
        self._tools = seen_tools(at.history)
        self._names = {tool_name(ToolCall("", name, "")) for name in self._tools}
        told = (opened_file(m.text) for m in reversed(at.history) if m.role == "tool")
        self._open_file = next(filter(None, told), None)
        call, self._is_known = taken_step(at.transcript.messages, at.job.point.point.cut_seq)
        self._taken = self._read(call)
        self._stop: CallsStoppedError | None = None

    def rows(self) -> list[Row]:
        """A row for each asking that was left. A context without both answers of the whole history is left again.

        Raises CallsStoppedError where a call may not be made now: the point is left.
        """
        job = self._at.job
        if not self._tools:
            one_each = {one.next_action_id: one for one in (*job.full, *job.contexts)}
            new = [one for id, one in one_each.items() if id not in self._at.stored]
            return [{**self._row(one), "status": "not_asked", "error": NO_TOOLS} for one in new]
        found: list[Row] = []
        full: list[Row] = []
        for asking in job.full:
            row = self._at.stored.get(asking.next_action_id)
            if row is None:
                row, stops = self._ask(asking, self._at.history, full)
                found.append(row)
                if stops:
                    return found
            full.append(row)
        for asking in job.contexts:
            row, _ = self._ask(asking, self._context(asking), full)
            if row["status"] == "failed" or all(one["status"] == "done" for one in full):
                found.append(row)
        if self._stop is not None:
            raise self._stop
        if full[0]["status"] == "failed":  # the second could not be compared: it is made again from the call cache
            found = [row for row in found if row["repetition"] != full[1]["repetition"] or row["status"] == "failed"]
        return found

    def _context(self, asking: Asking) -> tuple[Message, ...]:
        context = self._at.contexts[asking.compaction_id or ""]
        method = self._task.methods[asking.method]
        return recalled(method, context, QUESTION, lambda: self._at.history)[0]

    def _ask(self, asking: Asking, context: tuple[Message, ...], full: list[Row]) -> tuple[Row, bool]:
        """The row of an asking, and whether it failed in such a way that no other need be paid for."""
        start, row = perf_counter(), self._row(asking)
        actor = self._task.engine.actor
        assert actor is not None, "a study that asks for actions has a model as responder"
        try:
            with calling_for("next_action", asking.next_action_id):
                said = actor.propose(context, self._tools, asking.repetition)
        except CallsStoppedError as stop:  # the others are asked for all the same: calls for batches go together
            self._stop = stop
            return {**row, "status": "left"}, False
        except Exception as error:  # whatever a model's client raises costs this asking and no other
            # After a fault of the provider the others are asked: their answers are in the call cache for the next run.
            stops = not (isinstance(error, ModelError) and error.kind == "unavailable")
            return {**row, "status": "failed", "error": why(error), "seconds": perf_counter() - start}, stops
        done = said.completion
        row.update(status="done", model=done.model, input_tokens=done.input_tokens, output_tokens=done.output_tokens)
        row.update(cost_usd=done.cost_usd, seconds=perf_counter() - start)
        row.update(tool=said.call.name if said.call else NO_CALL, arguments=said.call.arguments if said.call else "{}")
        return {**row, **self._compared(row, full)}, False

    def _row(self, asking: Asking) -> Row:
        return {
            "next_action_id": asking.next_action_id,
            "session_id": self._at.info.session_id,
            "content_sha256": self._at.info.content_sha256,
            "point_id": self._at.job.point.point_id,
            "compaction_id": asking.compaction_id,
            "repetition": asking.repetition,
            "responder": self._task.engine.responder.name,
            "code": next_action_code_version(),
        }

    def _compared(self, row: Row, full: list[Row]) -> Row:
        action = self._read(_call_of(row))
        names: Row = {}
        if action is not None:
            names = {"kind": action.kind, "target": ", ".join(action.targets), "program": action.program}
            if action.tool not in self._names:
                names["reason"] = "no tool of the session has this name"
        compared = [self._with_full(action, one) for one in full] + [None, None]
        with_session = compare_actions(action, self._taken) if self._is_known else None
        if "reason" in names:
            with_session = "different" if with_session else None
        return {**names, "with_full": compared[0], "with_full_again": compared[1], "with_session": with_session}

    def _with_full(self, action: Action | None, row: Row) -> Comparison | None:
        if row["status"] != "done":
            return None
        is_unknown = action is not None and action.tool not in self._names
        return "different" if is_unknown else compare_actions(action, self._read(_call_of(row)))

    def _read(self, call: ToolCall | None) -> Action | None:
        return None if call is None else read_action(call, self._at.roots, self._open_file)


def _call_of(row: Row) -> ToolCall | None:
    return None if row["tool"] == NO_CALL else ToolCall("next", row["tool"], row["arguments"])
