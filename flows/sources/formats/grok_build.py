"""Grok Build's ``chat_history.jsonl``: what the model is sent, an item a line; older files have chat messages.

When Grok compacts, it writes the file anew: what was said before is no longer in it. ``summary.json`` in the same
folder names the session.
"""

from __future__ import annotations

from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.account import Kind
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.kinds import kind_of_unknown
from flows.sources.reading.responses import Items
from flows.sources.reading.session import INHERITED, UNKNOWN, SessionDraft
from flows.sources.reading.siblings import load_sibling, sibling_path
from flows.sources.reading.values import as_dict, first_text, int_or_none, need_object, nested, objects_in, text_or_none

NAME = "grok_build"
_HISTORY = "chat_history.jsonl"
_BY_PERSON = (None, "interjection")
"""Reasons (``synthetic_reason``) of prompts that the person wrote."""
_INJECTED = ("<user_info>", "<system-reminder>", "<git_status>", "<agent_skills>", "<mcp_servers>")
_CONTINUED = "This session is being continued from a previous conversation"
_KINDS: dict[str, Kind] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool_result": "tool",
    "backend_tool_call": "tool_call",
}


def detect(head: Head) -> bool:
    """Whether a record is one of Grok's items, or a chat message in a file of its name."""
    return any(map(_is_own, head.records)) or (
        head.name == _HISTORY and any("model_id" in record and "role" in record for record in head.records)
    )


def _is_own(record: Record) -> bool:
    kind, content = record.get("type"), record.get("content")
    if kind == "user":
        return isinstance(content, list) and ("synthetic_reason" in record or "prompt_index" in record)
    if kind == "assistant":
        calls = objects_in(record.get("tool_calls"))
        return isinstance(content, str) and ("model_id" in record or any("arguments" in call for call in calls))
    if kind == "tool_result":
        return isinstance(content, str) and "tool_call_id" in record
    return kind == "backend_tool_call" and "tool_type" in as_dict(record.get("kind"))


def read(source: Source) -> list[Transcript]:
    """The session of the file."""
    path = sibling_path(source, "summary.json")
    about = as_dict(load_sibling(path)) if path is not None else {}
    lines = list(source.records())
    parent = text_or_none(about.get("parent_session_id"))
    given = int_or_none(about.get("inherited_prefix_len")) or 0
    if parent is None or any(_is_summary(line) for _, line in lines[:given]):
        given = 0  # a compaction has taken what the session was given
    reading = _Reading(source)
    for number, (where, line) in enumerate(lines):
        source.guard(reading.leave_out if number < given else reading.take, where, line)
    session = reading.session
    session.model = session.model or text_or_none(about.get("current_model_id"))
    session.cwd = text_or_none(nested(about, "info", "cwd"))
    session.title = first_text(about.get("generated_title"), about.get("session_summary"))
    session.started_at = iso_time(about.get("created_at"))
    session.ended_at = iso_time(about.get("last_active_at")) or iso_time(about.get("updated_at"))
    native = text_or_none(nested(about, "info", "id"))
    is_fork = not str(about.get("session_kind")).startswith("subagent")
    parent = f"{NAME}-{parent}" if parent else None
    return session.build(NAME, native, parent_session_id=parent, is_fork=is_fork)


def _kind(line: Record) -> Any:
    """The type of an item; of a chat message that of the item that took its place."""
    role = line.get("role")
    return line.get("type") or ("tool_result" if role == "tool" else role)


def _is_summary(line: Record) -> bool:
    is_meta = _kind(line) == "user" and line.get("synthetic_reason") == "compaction_meta"
    return is_meta and text_of(line.get("content")).startswith(_CONTINUED)


class _Reading:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.items = Items(self.session)

    def leave_out(self, where: int, line: Record) -> None:
        """Counts an inherited item, one of the session before this one."""
        kind = _KINDS.get(str(_kind(line)))
        self.session.leave_out(INHERITED, kind)
        self.session.leave_out(INHERITED, "tool_call", len(objects_in(line.get("tool_calls"))))

    def take(self, where: int, line: Record) -> None:
        """Takes the next item."""
        session, ref, kind = self.session, self.source.ref(where), _kind(line)
        if kind == "reasoning":
            self.items.take(line, ref)
        elif kind == "backend_tool_call":
            self._run_by_provider(need_object(line.get("kind"), "kind"), ref)
        elif kind == "assistant":
            self._answer(line, ref)
        elif not isinstance(kind, str):
            raise MalformedError("an item without a type")
        else:
            self.items.end_response()
            if kind == "system":
                session.say("system", text_of(line.get("content")), ref)
            elif kind == "user":
                self._prompt(line, ref)
            elif kind == "tool_result":
                text = [text_of(line.get("content")), text_of([*map(_image, objects_in(line.get("images")))])]
                session.result(line.get("tool_call_id"), "\n".join(filter(None, text)), ref)
            else:
                session.leave_out(UNKNOWN, kind_of_unknown(line))

    def _run_by_provider(self, call: Record, ref: str) -> None:
        """A search or a program that ran at the provider: an item of the Responses API, with its type beside it."""
        tool = call.get("tool_type")
        kind = "custom_tool_call" if tool == "x_search" else f"{tool}_call"
        self.items.take({**call, "type": kind}, ref)

    def _answer(self, line: Record, ref: str) -> None:
        """Ends a response, whose reasoning and calls at the provider stand before it."""
        session = self.session
        draft = self.items.response or session.respond(None, ref)
        draft.add_reasoning(line.get("reasoning_content"))
        draft.add_text(text_of(line.get("content")))
        for call in objects_in(line.get("tool_calls")):
            about = as_dict(call.get("function")) or call
            session.call(draft, call.get("id"), about.get("name"), about.get("arguments"))
        session.model = session.model or text_or_none(line.get("model_id"))
        self.items.end_response()

    def _prompt(self, line: Record, ref: str) -> None:
        content = line.get("content")
        text = text_of([*map(_image, content)] if isinstance(content, list) else content)
        if _is_summary(line):
            self.session.compacted(summary=text, dropped=(), summary_at=self.session.number_kept())
            return
        reason = line.get("synthetic_reason")
        is_harness = reason not in _BY_PERSON or text.startswith(_INJECTED)
        draft = self.session.say("user", text, ref, typed=not is_harness, is_harness=is_harness)
        if reason == "project_instructions":
            draft.author = "rules"


def _image(part: Any) -> Any:
    """A part of a prompt; an image with its address where other logs have it."""
    is_image = isinstance(part, dict) and part.get("type") == "image" and "url" in part
    return {"type": "input_image", "image_url": part["url"]} if is_image else part


FORMAT = SourceFormat(
    NAME,
    "Grok Build's chat history (chat_history.jsonl)",
    "lines of type `tool_result` with a `tool_call_id`, `backend_tool_call`, `user` with a `synthetic_reason` or "
    "`prompt_index`, `assistant` with `model_id`",
    detect,
    read,
    order=47,
    version=2,
)
