"""Messages of opencode 2, made into those that opencode 1 exports: its kinds are other, what they say is the same."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from flows.sources.formats.opencode._parts import INLINED
from flows.sources.formats.opencode._reading import Reading
from flows.sources.reading.base import Record
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.values import as_dict, as_list, first_text, nested, objects_in

SWITCHES = {"agent-switched", "model-switched", "location-switched", "idle"}
"""Kinds of messages that the model is not given."""


class Reading2(Reading):
    """One session of opencode 2 while it is read."""

    def take(self, _: int | None, message: Any) -> None:
        """One message; one of the system stands among the others."""
        info = message["info"]
        if info["role"] == "system":
            self.session.say("system", text_of(info.get("text")), self.ref, iso_time(nested(info, "time", "created")))
        else:
            super().take(_, message)


def as_exported(own: str, kind: str, data: Record) -> Record:
    """A message as opencode 1 exports it; one of an unknown kind has a role that no message has."""
    info = {**data, "id": own, "role": kind}
    if kind == "assistant":
        parts = [_tool(part) if nested(part, "type") == "tool" else part for part in data["content"]]
        return {"info": {**info, "modelID": nested(data, "model", "id")}, "parts": parts}
    if kind == "compaction":
        return {"info": {**info, **_compaction(data)}, "parts": _texts(data.get("summary"), data.get("recent"))}
    if kind == "user":
        told = [part for file in as_list(data.get("files")) for part in _file(file)]
        skills = _texts(*(skill.get("text") for skill in objects_in(data.get("skills"))), is_typed=False)
        return {"info": info, "parts": [*skills, *_texts(data.get("text")), *told]}
    if kind in ("synthetic", "skill"):
        return {"info": {**info, "role": "user"}, "parts": _texts(data.get("text"), is_typed=False)}
    if kind == "shell":
        output = first_text(nested(data, "output", "output"), data.get("output"))
        return {"info": {**info, "role": "user"}, "parts": _texts(data.get("command"), output, is_typed=False)}
    return {"info": info, "parts": []}


def _texts(*texts: Any, is_typed: bool = True) -> list[Record]:
    return [{"type": "text", "text": text, "synthetic": not is_typed} for text in texts if text]


def _compaction(data: Record) -> Record:
    """The note of a summary. What it keeps word for word (``recent``) is text behind it, no messages."""
    return {
        "role": "assistant",
        "summary": True,
        "auto": {"auto": True, "manual": False}.get(str(data.get("reason"))),
        "isOpaque": data.get("providerContext") is not None,
        "error": data.get("status", "completed") != "completed",
    }


def _file(file: Any) -> list[Record]:
    """An attached file: text in words, anything else for a mark."""
    mime, data = nested(file, "mime"), nested(file, "data")
    data = data if isinstance(data, str) else ""
    if mime in INLINED:
        held = b64decode(data, validate=False).decode("utf-8", "replace")
        return _texts("\n".join(filter(None, (text_of(file.get("name")), held))), is_typed=False)
    return [{"type": "file", "mime": mime, "url": first_text(nested(file, "uri"), f"data:{mime};base64,{data}")}]


def _tool(part: Record) -> Record:
    state, time = as_dict(part.get("state")), as_dict(part.get("time"))
    content = objects_in(state.get("content"))
    texts = [text_of(one.get("text")) for one in content if one.get("type") == "text"]
    made: Record = {
        "status": state.get("status"),
        "input": state.get("input"),
        "metadata": {**as_dict(state.get("structured")), **as_dict(state.get("metadata"))},
        "time": {"end": time.get("completed"), "compacted": time.get("pruned")},
        "attachments": [{**one, "url": one.get("uri")} for one in content if one.get("type") == "file"],
    }
    if state.get("status") == "completed":
        made["output"] = "\n".join(filter(None, texts)) or _render_structured(state, is_alone=not content)
    elif state.get("status") == "error":
        made["error"] = "\n".join(filter(None, (*texts, text_of(nested(state, "error", "message")))))
    return {**part, "callID": part.get("callID") or part.get("id"), "tool": part.get("name"), "state": made}


def _render_structured(state: Record, is_alone: bool) -> str:
    """A result without text: the text of a file that was read, or the values themselves."""
    values = next((state[key] for key in ("structured", "result") if state.get(key)), None)
    text = first_text(values, nested(values, "content"))
    return text or (dumps(values) if values is not None and is_alone else "")
