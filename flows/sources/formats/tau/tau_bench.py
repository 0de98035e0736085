"""tau-bench results: a list of runs of customer-service tasks, each with its chat as ``traj``.

The user is a simulator, whose turns are plain user messages. Agents that act in text (``Action:`` and a JSON object,
answered by a user message that begins with ``API output:``) get their calls like all others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import text_of
from flows.sources.reading.chat import add_message, is_message
from flows.sources.reading.decode import dumps
from flows.sources.reading.session import MessageDraft, SessionDraft
from flows.sources.reading.values import nested

NAME = "tau_bench"
EMPTY_RUN = "run without a message"
_ACTION, _OUTPUT = "Action:", "API output: "
_ERRORS = ("Error: ", "Unknown action ")
"""How the environment's own results begin when a call fails; the log has no flag."""


def detect(head: Head) -> bool:
    """Whether the file holds runs."""
    return any(map(_is_run, head.values(5)))


def _is_run(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("traj"), list):
        return False
    messages = value["traj"][:5]
    return any(map(is_message, messages)) or (not messages and "reward" in value)


def read(source: Source) -> Iterator[Transcript]:
    """One session a run, of a list, of JSON lines, or of a single object."""
    for where, ref, run in source.values():
        if not isinstance(nested(run, "traj"), list):
            source.quarantine(where, f"{ref}: expected a run with a list under `traj`, found {kind_of(run)}", run)
        elif not run["traj"]:
            source.account.leave_out(EMPTY_RUN)
        else:
            yield from _session(source, run, ref, where)


def message_ref(ref: str, index: int) -> str:
    """The place of a message in a run."""
    return f"{ref}.{index}" if "#" in ref else f"{ref}#{index}"


def run_title(domain: str, run: Record, reward: Any) -> str:
    """A title: the task and its outcome in one line."""
    title = f"{domain} task {run.get('task_id')}".strip()
    if run.get("trial") is not None:
        title += f", trial {run['trial']}"
    is_number = isinstance(reward, (int, float)) and abs(reward) < 1e9  # a whole number of any length may stand here
    return f"{title}: reward {reward:g}" if is_number else title


def is_solved(reward: Any) -> bool | None:
    """Whether a run solved its task, by the rule of tau-bench and tau2-bench: a reward of 1; None without a reward."""
    return None if type(reward) not in (int, float) else abs(reward - 1) <= 1e-6


def whole_digest(run: Record, messages: list[Any]) -> list[str]:
    """The key of a run among those of its task: all its messages, as a finished run never grows."""
    digest = hashlib.blake2b(digest_size=8)
    for message in messages:
        digest.update(dumps(message).encode("utf-8", "replace"))
    return [str(run.get("task_id")), str(run.get("trial")), digest.hexdigest()]


def _session(source: Source, run: Record, ref: str, line: int | None) -> list[Transcript]:
    session = SessionDraft(source)
    open_call: str | None = None
    before: MessageDraft | None = None
    for index, message in enumerate(run["traj"]):
        place, said, before = message_ref(ref, index), before, None
        with source.setting_aside(line, place, message):
            text = text_of(nested(message, "content"))
            if nested(message, "role") == "user" and text.startswith(_OUTPUT):
                open_call = _text_action(session, said)
            if open_call is not None:
                text = text.removeprefix(_OUTPUT)
                session.result(open_call, text, place, is_error=text.startswith(_ERRORS))
                open_call = None
                continue
            before = add_message(session, message, place)
            if before is not None and before.role == "tool":
                before.is_error = before.is_error or text.startswith(_ERRORS)
    session.title = run_title("", run, run.get("reward"))
    session.resolved = is_solved(run.get("reward"))
    return session.build(NAME, None, identity=whole_digest(run, run["traj"]))


def _text_action(session: SessionDraft, said: MessageDraft | None) -> str | None:
    """Turns the JSON behind the last ``Action:`` of a response into a call; its id, None when there is no JSON."""
    if said is None or said.role != "assistant" or said.calls:
        return None
    text = "\n".join(said.texts)
    rest, mark, action = text.rpartition(_ACTION)
    try:
        value = json.loads(action.strip())
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    said.texts = [rest.rstrip()] if mark and rest.strip() else []
    return session.call(said, None, value["name"], value.get("arguments"))


FORMAT = SourceFormat(
    NAME,
    "tau-bench results: runs of customer-service tasks with a simulated user",
    "objects with a list of chat messages under `traj`, in a list, on lines or alone",
    detect,
    read,
    order=250,
    version=2,
)
