"""The to-do list of an agent, whatever tool or check list holds it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from compaction.transcript import Message, ToolCall

TodoStatus = Literal["open", "in_progress", "done"]

_LIST_KEYS = ("todos", "plan", "task_list", "tasks", "items", "steps")
_TEXT_KEYS = ("content", "step", "title", "description", "subject", "task", "text", "name")
_TOOL = re.compile(r"todo|plan|task|checklist", re.IGNORECASE)
_STATUS: dict[str, TodoStatus] = {
    "completed": "done",
    "complete": "done",
    "done": "done",
    "finished": "done",
    "in_progress": "in_progress",
    "in-progress": "in_progress",
    "inprogress": "in_progress",
    "active": "in_progress",
    "doing": "in_progress",
    "started": "in_progress",
}
_DROPPED = frozenset({"cancelled", "canceled", "deleted", "skipped", "abandoned"})
_CHECK = re.compile(r"^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\[([ xX~/>-])\][ \t]+(\S.*)$", re.MULTILINE)
_BOX = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?\[([ xX~/>-])\][ \t]+(\S.*)$", re.MULTILINE)
_TASK_NUMBER = re.compile(r"[Tt]ask #?(\d+)")


@dataclass(frozen=True, slots=True)
class Todo:
    """One item."""

    text: str
    status: TodoStatus


@dataclass(frozen=True, slots=True)
class TodoList:
    """A to-do list as it stood after one message."""

    items: tuple[Todo, ...]
    seq: int
    """Position of the message; -1 for a message that has none."""

    @property
    def unfinished(self) -> tuple[Todo, ...]:
        """The items in progress, then the open ones."""
        return tuple(i for i in self.items if i.status == "in_progress") + tuple(
            i for i in self.items if i.status == "open"
        )


def message_todos(message: Message) -> TodoList | None:
    """The list that a message writes whole, in a tool call or as a check list in its text; None when it writes none.

    A check list needs two items: one box alone is more often an example.
    """
    if message.role != "assistant":
        return None
    seq = -1 if message.seq is None else message.seq
    for call in reversed(message.tool_calls):
        items = _call_items(call)
        if items:
            return TodoList(tuple(items), seq)
    if "[ ]" in message.text or "[x]" in message.text or "[X]" in message.text:
        items = _boxes(_CHECK, message.text)
        if len(items) > 1:
            return TodoList(tuple(items), seq)
    return None


def latest_todos(messages: Sequence[Message]) -> TodoList | None:
    """The list as it stands after the messages; None when the agent never kept one.

    Lists that are written whole replace each other; lists that are kept task by task (``TaskCreate``, ``TaskUpdate``)
    are put together from their calls and results. A list kept with a tool is not replaced by a check list in prose.
    """
    latest: TodoList | None = None
    by_tool = False
    tasks: dict[str, Todo] = {}
    texts = {m.tool_call_id: m.text for m in messages if m.role == "tool" and m.tool_call_id and "ask" in m.text[:200]}
    for message in messages:
        if message.role != "assistant":
            continue
        changed = [_task_step(call, tasks, texts.get(call.id, "")) for call in message.tool_calls]
        if any(changed):
            latest, by_tool = TodoList(tuple(tasks.values()), -1 if message.seq is None else message.seq), True
            continue
        found = message_todos(message)
        if found is not None:
            from_call = any(_call_items(call) for call in message.tool_calls)
            if from_call or not by_tool:
                latest, by_tool = found, by_tool or from_call
    return latest


def _task_step(call: ToolCall, tasks: dict[str, Todo], result: str) -> bool:
    """Apply a TaskCreate or TaskUpdate call; return whether the call was one."""
    if call.name not in ("TaskCreate", "TaskUpdate"):
        return False
    values = call.parsed()
    if call.name == "TaskCreate":
        number = _TASK_NUMBER.search(result)
        text = values.get("subject") or values.get("description")
        if isinstance(text, str) and text:
            tasks[number[1] if number else str(len(tasks) + 1)] = Todo(_line(text), "open")
        return True
    task_id = str(values.get("taskId", values.get("id", "")))
    task, status = tasks.get(task_id), values.get("status")
    if task is not None and isinstance(status, str):
        if status.lower() in _DROPPED:
            del tasks[task_id]
        else:
            tasks[task_id] = replace(task, status=_status(status))
    return True


def _call_items(call: ToolCall) -> list[Todo]:
    if not _TOOL.search(call.name):
        return []
    values = call.parsed()
    for key in _LIST_KEYS:
        value = values.get(key)
        if isinstance(value, list):
            return [todo for todo in map(_item, value) if todo is not None]
        if isinstance(value, str) and "[" in value:
            return _boxes(_BOX, value)
    return []


def _item(value: Any) -> Todo | None:
    if not isinstance(value, dict):
        return None
    text = next((value[k] for k in _TEXT_KEYS if isinstance(value.get(k), str) and value[k].strip()), None)
    status = value.get("status", "done" if value.get("completed") is True or value.get("done") is True else "open")
    if text is None or not isinstance(status, str) or status.lower() in _DROPPED:
        return None
    return Todo(_line(text), _status(status))


def _status(text: str) -> TodoStatus:
    return _STATUS.get(text.lower().replace(" ", "_"), "open")


def _boxes(pattern: re.Pattern[str], text: str) -> list[Todo]:
    marks: dict[str, TodoStatus] = {"x": "done", "X": "done", " ": "open"}
    return [Todo(_line(m[2]), marks.get(m[1], "in_progress")) for m in pattern.finditer(text)]


def _line(text: str) -> str:
    return " ".join(text.split())
