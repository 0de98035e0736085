"""Datasets of agents' runs, as they are published: Parquet, JSON lines or JSON, a run a row.

The messages stand in a column, as a list or as JSON text: OpenAI's, ShareGPT's (``from``, ``value``), or those of
nebius/SWE-agent-trajectories (``role``, ``text``). Columns beside it say which task it was and how it ended.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import orjson

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import shows_failure
from flows.sources.reading.chat import add_message, is_message
from flows.sources.reading.decode import dumps
from flows.sources.reading.hermes_calls import responses_in, split_calls
from flows.sources.reading.session import MessageDraft, SessionDraft
from flows.sources.reading.text_calls import convert_text_calls
from flows.sources.reading.values import as_list, first_item, first_text, need_object, objects_in, text_or_none

NAME = "hf_trajectories"
_MESSAGES = ("trajectory", "messages", "conversations")
_TASKS = ("instance_id", "task_id")
_IDS = ("trajectory_id", "traj_id")
_MODELS = ("model", "model_name")
_SOLVED = ("resolved", "target")
_OUTCOMES = (*_SOLVED, "exit_status")
_COLUMNS = (*_MESSAGES, *_TASKS, *_IDS, *_MODELS, *_OUTCOMES, "id", "system")
_MARKS = ("instance_id", *_IDS, *_OUTCOMES)
"""Columns that tell a row from an object with messages that any program writes."""
_ROLES = {
    "human": "user",
    "ai": "assistant",
    "gpt": "assistant",
    "function_call": "assistant",
    "observation": "tool",
    "function_response": "tool",
}
"""Names of roles that other programs have."""
_FENCE = re.compile(r"^```([\w-]*)[ \t\r]*$", re.MULTILINE)
_OBSERVATION = re.compile(r"OBSERVATION:\n?|(?=<returncode>)")
"""How the harnesses that read actions from blocks begin a result."""
_SHELLS = ("bash", "sh", "mswea_bash_command")


def detect(head: Head) -> bool:
    """Whether its rows are runs."""
    return any(map(_is_row, head.rows or head.values(5)))


def _is_row(value: Any) -> bool:
    if not isinstance(value, dict) or "history" in value:  # a `history` beside a `trajectory` is SWE-agent's own file
        return False
    for key in _MESSAGES:
        turns = _decode(value.get(key))
        if isinstance(turns, list) and any(map(_is_turn, turns[:5])):
            is_plain = key == "messages" and turns is value[key] and any(map(is_message, turns[:5]))
            return not is_plain or any(mark in value for mark in _MARKS)
    return False


def _is_turn(value: Any) -> bool:
    return isinstance(value, dict) and (is_message(value) or _is_of_sharegpt(value) or _is_of_swe_agent(value))


def _is_of_sharegpt(turn: Record) -> bool:
    return isinstance(turn.get("from"), str) and "value" in turn


def _is_of_swe_agent(turn: Record) -> bool:
    has_text = "text" in turn or "system_prompt" in turn
    return turn.get("role") in ("system", "user", "ai") and has_text and "content" not in turn


def _decode(value: Any) -> Any:
    """The list that a JSON text is; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def read(source: Source) -> Iterator[Transcript]:
    """One session a row."""
    if source.table is not None:
        for number, row in source.table.rows(_COLUMNS, source.quarantine):
            yield from _session(source, row, source.ref(number), number)
    else:
        for line, ref, row in source.values():
            yield from _session(source, row, ref, line)


def _session(source: Source, row: Any, ref: str, line: int | None) -> list[Transcript]:
    try:
        turns = _turns_of(row)
    except MalformedError as error:
        source.quarantine(line, f"{ref}: {error}", row)
        return []
    session = SessionDraft(source)
    prompt = text_or_none(row.get("system"))
    if prompt and not any("system" in (turn.get("role"), turn.get("from")) for turn in objects_in(turns)):
        session.say("system", prompt, ref)
    reading = _Reading(session, turns)
    for index, turn in enumerate(turns):
        with source.setting_aside(line, f"{ref}: message {index}", turn):
            reading.take(index, f"{ref}#{index}")
    convert_text_calls(session)
    task = next((str(row[key]) for key in _TASKS if isinstance(row.get(key), (str, int))), "")
    session.model = first_text(*map(row.get, _MODELS))
    solved = next((row[key] for key in _SOLVED if row.get(key) in (0, 1)), None)
    session.resolved = None if solved is None else bool(solved)
    session.exit_status = text_or_none(row.get("exit_status"))
    session.title = ": ".join(filter(None, (task, _outcome(session)))) if task else None
    identity = [task, str(row.get("id", "")), _digest(session.drafts)]
    built = session.build(NAME, first_text(*map(row.get, _IDS)), identity=identity)
    if not session.drafts and not turns:
        source.account.leave_out("run without a message")
    return built


def _digest(drafts: list[MessageDraft]) -> str:
    """A hash of a whole run: those of one task may begin alike, and a finished one never grows."""
    digest = hashlib.blake2b(digest_size=8)
    for draft in drafts:
        digest.update(dumps([draft.role, draft.texts, [call.arguments for call in draft.calls]]).encode())
    return digest.hexdigest()


def _turns_of(row: Any) -> list[Any]:
    row = need_object(row, "a row")
    found = [turns for key in _MESSAGES if isinstance(turns := _decode(row.get(key)), list)]
    if not found:
        given = next((key for key in _MESSAGES if key in row), None)
        what = f"`{given}` is {kind_of(row[given])}" if given else "none of them"
        raise MalformedError(f"expected a list under `trajectory`, `messages` or `conversations`, found {what}")
    return next((turns for turns in found if turns), found[0])


def _outcome(session: SessionDraft) -> str:
    said = {None: None, True: "resolved", False: "not resolved"}[session.resolved]
    return ", ".join(filter(None, (said, session.exit_status)))


class _Reading:
    """Adds the messages of one run, whose actions may be calls, or blocks in the text that the next prompt answers."""

    def __init__(self, session: SessionDraft, turns: list[Any]) -> None:
        self.session = session
        self.turns = turns
        objects = objects_in(turns)
        self.has_calls = any(turn.get("tool_calls") or turn.get("from") == "function_call" for turn in objects)
        self.is_hermes = any(responses_in(_said(turn)) for turn in objects)
        self.waiting: list[str] = []
        """Calls without a result, of those that the log gives no ids."""

    def take(self, index: int, ref: str) -> None:
        """Adds one message."""
        turn = need_object(self.turns[index], "a message")
        message = _as_chat(turn)
        text = message.get("content")
        if self.is_hermes and self.waiting and (given := responses_in(_said(turn))):
            self._take_responses(given, ref)
            return
        if message["role"] == "user" and self.waiting and isinstance(text, str) and not self.is_hermes:
            mark = _OBSERVATION.match(text)
            text = text[mark.end() :] if mark else text
            self.session.result(self.waiting.pop(0), text, ref, is_error=shows_failure(text))
            return
        if message["role"] == "tool" and not message.get("tool_call_id") and self.waiting:
            message = {**message, "tool_call_id": self.waiting.pop(0)}
        draft = add_message(self.session, message, ref)
        if draft is None or draft.role != "assistant":
            return
        self.waiting = []
        if turn.get("from") == "function_call":
            self._take_calls(draft, turn["value"])
        elif self.is_hermes:
            self._take_hermes(draft)
        elif not self.has_calls and self._is_answered(index):
            self._take_block(draft)

    def _take_hermes(self, draft: MessageDraft) -> None:
        rest, calls = split_calls("\n".join(draft.texts))
        if calls:
            draft.texts = [rest] if rest else []
            self.waiting = [self.session.call(draft, None, name, arguments) for name, arguments in calls]

    def _take_responses(self, given: list[str], ref: str) -> None:
        """Adds the results of the waiting calls, in their order; surplus results go to the last call."""
        many = len(self.waiting)
        for text in [*given[: many - 1], "\n".join(given[many - 1 :])] if len(given) > many else given:
            self.session.result(self.waiting.pop(0), text, ref, is_error=shows_failure(text))

    def _is_answered(self, index: int) -> bool:
        """Whether the next turn is the result of an action: nebius' runs do not mark results, others do."""
        if _is_of_swe_agent(self.turns[index]):
            return True
        follows = first_item(self.turns[index + 1 : index + 2])
        if not isinstance(follows, dict):
            return False
        after = _as_chat(follows)
        text = after.get("content")
        return after.get("role") == "user" and isinstance(text, str) and _OBSERVATION.match(text) is not None

    def _take_calls(self, draft: MessageDraft, value: Any) -> None:
        """Adds the calls of a ShareGPT turn, as JSON; any other value stays text."""
        try:
            calls = orjson.loads(value) if isinstance(value, str) else value
        except orjson.JSONDecodeError:
            return
        calls = [one for one in (calls if isinstance(calls, list) else [calls]) if isinstance(one, dict)]
        if calls and all(isinstance(one.get("name"), str) for one in calls):
            draft.texts = []
            self.waiting = [self.session.call(draft, None, one["name"], one.get("arguments")) for one in calls]

    def _take_block(self, draft: MessageDraft) -> None:
        """The last block of a response becomes its call, and leaves the text."""
        text = "\n".join(draft.texts)
        opened = block = None
        for fence in _FENCE.finditer(text):
            if opened is None:
                opened = fence
            elif not fence[1]:
                block, opened = (opened, fence), None
        if block is None:
            return
        action = text[block[0].end() : block[1].start()].strip("\r\n")
        if not action.strip():
            return
        rest = f"{text[: block[0].start()].rstrip()}\n{text[block[1].end() :].lstrip()}".strip()
        draft.texts = [rest] if rest else []
        name = "bash" if block[0][1] in _SHELLS else action.split(maxsplit=1)[0]
        self.waiting = [self.session.call(draft, None, name, {"command": action})]


def _said(turn: Record) -> str:
    return text_or_none(turn.get("content")) or text_or_none(turn.get("value")) or ""


def _as_chat(turn: Record) -> Record:
    """A message as OpenAI's API has it."""
    role = turn.get("role", turn.get("from"))
    role = _ROLES.get(role, role) if isinstance(role, str) else role
    if _is_of_sharegpt(turn):
        return {"role": role, "content": turn["value"]}
    if _is_of_swe_agent(turn):
        return {"role": role, "content": turn.get("text") or turn.get("system_prompt")}
    ids = as_list(turn.get("tool_call_ids"))
    return {**turn, "role": role, **({"tool_call_id": ids[0]} if ids and not turn.get("tool_call_id") else {})}


FORMAT = SourceFormat(
    NAME,
    "Datasets of agents' runs (nebius, SWE-smith, ShareGPT): Parquet, JSON lines or JSON, a run a row",
    "rows with messages under `trajectory` or `conversations`, or under `messages` as JSON text or beside "
    "`instance_id`, `trajectory_id`, `traj_id`, `resolved`, `target` or `exit_status`",
    detect,
    read,
    order=255,
    version=3,
    shared_suffixes=(".parquet",),
)
