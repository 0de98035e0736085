"""Codex CLI rollouts: JSON lines ``{timestamp, type, payload}`` round items of the Responses API.

``response_item`` lines are the model's context; ``event_msg`` lines repeat them for the screen. Items of one response
carry no common id: assistant items in a row are one response until an output or a prompt follows.
"""

from __future__ import annotations

from typing import Any

import orjson

from compaction.transcript import Transcript
from flows.sources.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.blocks import text_of, text_or_none
from flows.sources.decode import dumps, kind_of
from flows.sources.session import BOOKKEEPING, DUPLICATE, Draft, SessionDraft

NAME = "codex_rollout"
_ENVELOPES = {"session_meta", "turn_context", "response_item", "event_msg", "compacted"}
_BARE_ITEMS = {"message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call"}
_INJECTED = ("# AGENTS.md instructions", "<", "# Context from my IDE setup")
_ROLES = {"user": "user", "assistant": "assistant", "developer": "system", "system": "system"}


def detect(head: Head) -> bool:
    """Whether one of the first records is an envelope of a rollout, or the bare items of an old one."""
    for record in head.records:
        if record.get("type") in _ENVELOPES and isinstance(record.get("payload"), dict):
            return True
        if record.get("record_type") == "state":
            return True
    return any(
        record.get("type") in _BARE_ITEMS
        and ("call_id" in record or record.get("role") in _ROLES)
        and "message" not in record
        for record in head.records
    )


def read(source: Source) -> list[Transcript]:
    """The session of the file."""
    rollout = _Rollout(source)
    source.each(rollout.take)
    built = rollout.session.build(NAME, rollout.native, parent_session_id=rollout.parent)
    return [built] if built is not None else []


class _Rollout:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.native: str | None = None
        self.parent: str | None = None
        self.response: Draft | None = None
        self.items: set[str] = set()
        self.instructions: Draft | None = None
        self.tokens: int | None = None

    def take(self, where: int, record: Record) -> None:
        kind, payload, time = record.get("type"), record.get("payload"), text_or_none(record.get("timestamp"))
        if kind in _ENVELOPES:
            if not isinstance(payload, dict):
                raise MalformedError(f"payload is {kind_of(payload)}, expected an object")
        elif kind is None and ("instructions" in record or "record_type" in record):
            kind, payload = ("session_meta" if "id" in record else "event_msg"), record
        else:
            kind, payload = ("response_item" if kind in _BARE_ITEMS else str(kind)), record
        if kind == "response_item":
            self._item(payload, self.source.ref(where), time)
        elif kind == "session_meta":
            self._meta(payload, self.source.ref(where), time)
        elif kind == "compacted":
            self._compacted(payload)
        else:
            self.session.leave(BOOKKEEPING)
            self._event(kind, payload)

    def _meta(self, meta: Record, ref: str, time: str | None) -> None:
        if self.native is not None:
            self.session.leave(BOOKKEEPING)  # introduces history that a fork copied; the first names the file
            return
        session = self.session
        self.native = text_or_none(meta.get("id"))
        session.cwd = text_or_none(meta.get("cwd"))
        session.started_at = text_or_none(meta.get("timestamp")) or time
        parent = _find(meta.get("source"), "parent_thread_id")
        self.parent = f"{NAME}-{parent}" if parent else None
        base = meta.get("base_instructions")
        text = text_or_none(base.get("text") if isinstance(base, dict) else base) or text_or_none(
            meta.get("instructions")
        )
        if text:
            self.instructions = session.say("system", text, ref, time)
        else:
            session.leave(BOOKKEEPING)

    def _event(self, kind: str, payload: Record) -> None:
        if kind == "turn_context":
            self.session.model = self.session.model or text_or_none(payload.get("model"))
            self.session.cwd = self.session.cwd or text_or_none(payload.get("cwd"))
        elif payload.get("type") == "token_count":
            info = payload.get("info")
            usage = info.get("last_token_usage") if isinstance(info, dict) else None
            tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
            self.tokens = tokens if isinstance(tokens, int) else self.tokens

    def _item(self, item: Record, ref: str, time: str | None) -> None:
        kind = item.get("type")
        if not isinstance(kind, str):
            raise MalformedError("an item without a type")
        own = item.get("id") or (f"{kind} {item.get('call_id')}" if kind.endswith("_call") else None)
        if isinstance(own, str):
            if own in self.items:
                self.session.leave(DUPLICATE)
                return
            self.items.add(own)
        if kind == "message":
            self._message(item, ref, time)
        elif kind.endswith("_output"):
            self.response = None
            text, failed = _output(item)
            self.session.result(item.get("call_id"), text, ref, time, is_error=failed)
        elif kind == "reasoning":
            draft = self._respond(ref, time)
            draft.add_reasoning(text_of(item.get("summary")))
            draft.add_reasoning(_reasoning(item.get("content")))
        elif kind.endswith("_call"):
            draft = self._respond(ref, time)
            call_id = item.get("call_id") or item.get("id")
            self.session.call(draft, call_id, item.get("name") or kind.removesuffix("_call"), _arguments(item))
        else:  # opaque items: an encrypted compaction, a ghost snapshot
            self.session.leave(BOOKKEEPING)

    def _message(self, item: Record, ref: str, time: str | None) -> None:
        role = _ROLES.get(str(item.get("role")))
        if role is None:
            raise MalformedError(f"role is {item.get('role')!r}, expected one of {', '.join(_ROLES)}")
        text = text_of(item.get("content"))
        if role == "assistant":
            self._respond(ref, time).add_text(text)
            return
        self.response = None
        if role == "system":
            self.session.say("system", text, ref, time)
        else:
            self.session.say("user", text, ref, time, typed=not text.startswith(_INJECTED))

    def _respond(self, ref: str, time: str | None) -> Draft:
        if self.response is None:
            self.response = self.session.respond(None, ref, time)
        return self.response

    def _compacted(self, payload: Record) -> None:
        """The context was replaced by ``replacement_history``; without one the log does not say what stayed."""
        self.response = None
        history = payload.get("replacement_history")
        dropped: list[Draft] | None = None
        if isinstance(history, list):
            kept = {
                (_ROLES.get(str(item.get("role"))), text_of(item.get("content")))
                for item in history
                if isinstance(item, dict)
            }
            dropped = [
                draft
                for draft in self.session.drafts
                if draft is not self.instructions and (draft.role, "\n".join(draft.texts)) not in kept
            ]
        self.session.compacted(summary=text_or_none(payload.get("message")), dropped=dropped, tokens_before=self.tokens)


def _arguments(item: Record) -> Any:
    for key in ("arguments", "action"):
        if key in item:
            return item[key]
    return {"input": item["input"]} if "input" in item else None


def _reasoning(content: Any) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "\n".join(
        block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)
    )


def _output(item: Record) -> tuple[str, bool]:
    """The text of an output and whether it is marked as failed; older versions wrap both in JSON."""
    output = item.get("output")
    if isinstance(output, str) and output.startswith('{"output":'):
        try:
            output = orjson.loads(output)
        except orjson.JSONDecodeError:
            return text_of(output), False
    failed = False
    if isinstance(output, dict):
        details = output.get("metadata")
        code = details.get("exit_code") if isinstance(details, dict) else None
        failed = output.get("success") is False or (isinstance(code, int) and code != 0)
        output = output.get("output", output.get("content"))
    if output is None and "tools" in item:
        output = dumps(item["tools"])
    return text_of(output), failed


def _find(value: Any, key: str) -> str | None:
    """A text under a key, however deep: the origin of a sub-agent is nested differently by version."""
    if isinstance(value, dict):
        if isinstance(value.get(key), str):
            return str(value[key])
        return next((found for item in value.values() if (found := _find(item, key))), None)
    return None


FORMAT = SourceFormat(
    NAME,
    "Codex CLI rollout (one JSON object a line, Responses API items)",
    "lines of type session_meta, turn_context, response_item or event_msg with a payload",
    detect,
    read,
)
