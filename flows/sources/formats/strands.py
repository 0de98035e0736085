"""Sessions of Strands Agents, as its file session manager stores them: a folder of messages for each agent.

``session_<id>/agents/agent_<id>/messages/message_<n>.json`` has a message of Bedrock's Converse API. Beside the folder
``agent.json`` has what the conversation manager last took out of the context.
"""

from __future__ import annotations

import re
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import block_text, iso_time, text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.session import BOOKKEEPING, SessionDraft
from flows.sources.reading.siblings import load_sibling, sibling_path
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, need_list, need_object, nested, objects_in
from flows.support.clock import utc_time

NAME = "strands"
_MEMBER = re.compile(r"messages/message_\d+\.json\Z")
_FOLDERS = re.compile(r"/session_([^/]+)/agents/agent_([^/]+)/messages\Z")
_FILES = ("image", "document", "video", "audio")
_USED = ("inputTokens", "outputTokens", "cacheReadInputTokens")


def detect(head: Head) -> bool:
    """Whether a record is a stored message of Strands."""
    return any(map(_is_stored, head.values(5)))


def _is_stored(value: Any) -> bool:
    message = nested(value, "message")
    is_message = nested(message, "role") in ("user", "assistant") and isinstance(message.get("content"), list)
    return is_message and type(value.get("message_id")) is int and "created_at" in value


def read(source: Source) -> list[Transcript]:
    """The one session of the folder."""
    session = SessionDraft(source)
    ends: list[tuple[str | None, int]] = []
    """For each message when it was stored, and how many messages of the session there were with it."""
    for where, ref, record in source.values(1):
        with source.setting_aside(where, ref, record):
            _take(session, record, ref)
        ends.append((iso_time(nested(record, "created_at")), len(session.drafts)))
    path = sibling_path(source, "agent.json") if source.members else None
    _compaction(session, as_dict(load_sibling(path) if path is not None else None), ends)
    return session.build(NAME, _native_id(source))


def _native_id(source: Source) -> str | None:
    """The ids of session and agent, from the names of their folders."""
    found = _FOLDERS.search(source.input.path.as_posix()) if source.members else None
    return "-".join(found.groups()) if found else None


def _take(session: SessionDraft, record: Any, ref: str) -> None:
    record = need_object(record, "a stored message")
    # A guardrail puts another text in the place of a message: that is what the model reads from then on.
    message = need_object(record.get("redact_message") or record.get("message"), "message")
    role, time = message.get("role"), iso_time(record.get("created_at"))
    blocks = objects_in(need_list(message.get("content"), "content"))
    if role == "assistant":
        _assistant(session, blocks, ref, time)
        used = as_dict(nested(message, "metadata", "usage"))
        session.use(None, make_usage(*map(used.get, _USED)))
    elif role == "user":
        _user(session, blocks, ref, time)
    else:
        raise MalformedError(f"role is {role!r}, expected user or assistant")


def _assistant(session: SessionDraft, blocks: list[Record], ref: str, time: str | None) -> None:
    draft = session.respond(None, ref, time)
    for block in blocks:
        if isinstance(call := block.get("toolUse"), dict):
            session.call(draft, call.get("toolUseId"), call.get("name"), call.get("input"))
        elif isinstance(thought := block.get("reasoningContent"), dict):
            draft.add_reasoning(nested(thought, "reasoningText", "text"))
        else:
            draft.add_text(_show(session, block))


def _user(session: SessionDraft, blocks: list[Record], ref: str, time: str | None) -> None:
    texts = []
    for block in blocks:
        result = block.get("toolResult")
        if isinstance(result, dict):
            parts = [_show(session, part) for part in objects_in(result.get("content"))]
            failed = result.get("status") == "error"
            session.result(result.get("toolUseId"), "\n".join(filter(None, parts)), ref, time, is_error=failed)
        else:
            texts.append(_show(session, block))
    if any(texts) or not any("toolResult" in block for block in blocks):
        session.say("user", "\n".join(filter(None, texts)), ref, time, typed=True)


def _show(session: SessionDraft, block: Record) -> str:
    """The text of a block for the model: text, a value as JSON, a mark for a file."""
    if "json" in block:
        return dumps(block["json"])
    what = next((what for what in _FILES if what in block), None)
    if what is not None:
        file, held = block[what], nested(block[what], "source", "bytes")
        about = {"media_type": f"{what}/{nested(file, 'format')}", "url": nested(file, "source", "location", "uri")}
        return block_text({"type": what, "data": nested(held, "data"), **about}) or ""
    for key in ("guardContent", "citationsContent"):
        if key in block:
            held = block[key].get("text") or block[key].get("content")
            return text_of(held)
    if "text" not in block:
        session.leave_out(BOOKKEEPING)
        return ""
    return text_of(block["text"])


def _compaction(session: SessionDraft, agent: Record, ends: list[tuple[str | None, int]]) -> None:
    """Notes the conversation manager's last removal: so many messages from the start, with or without a summary."""
    state = as_dict(agent.get("conversation_manager_state"))
    count, summary = state.get("removed_message_count"), state.get("summary_message")
    if type(count) is not int or not 0 < count <= len(ends):
        return
    noted = utc_time(iso_time(agent.get("updated_at")))
    before = [at for time, at in ends if noted is None or (stored := utc_time(time)) is None or stored <= noted]
    session.compacted(
        summary=text_of(nested(summary, "content")) if isinstance(summary, dict) else None,
        dropped=session.drafts[: ends[count - 1][1]],
        at=max(before, default=0),
    )


FORMAT = SourceFormat(
    NAME,
    "session of Strands Agents: a folder of `message_<n>.json` for each agent, or the same as JSON lines",
    "objects with a `message_id`, `created_at` and a `message` of role user or assistant with a list of blocks",
    detect,
    read,
    order=114,
    folder_member=_MEMBER,
)
