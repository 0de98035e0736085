"""Sessions as logs of agents: the lines of a Claude Code log and of a Codex rollout, and where such files lie."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from tests.synth.chance import chance_of
from tests.synth.session import Call, Compacted, Entry, Said, Session

Line = dict[str, Any]

_START = datetime(2026, 1, 5, 8, tzinfo=UTC)
MODEL = "synth-1"
_BASE_CONTEXT = 12_000
"""Tokens of a prompt before anything was said: an agent's instructions and tools."""


@dataclass(frozen=True)
class LogFormat:
    """A format that corpora are written in."""

    name: str
    lines: Callable[[Session], Iterator[Line]]
    path: Callable[[Session], str]
    """Where the file of a session lies, relative to the corpus."""
    numbers_lines: bool
    joins_responses: bool
    has_system: bool
    """Whether a log holds the system prompt. Where it does not, instructions come as a person's words."""


class _Log:
    """What the lines of one log share: its id, and a clock that goes on."""

    def __init__(self, session: Session) -> None:
        # Apart from the draws of the text, so that a text does not depend on the format.
        self.chance = chance_of(session.seed, "log", session.number)
        self.session_id = self.uuid()
        self.time = started(session)
        self.context = _BASE_CONTEXT

    def uuid(self) -> str:
        """A new identity."""
        digits = f"{self.chance.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def tick(self) -> str:
        """The time a while later."""
        self.time += timedelta(seconds=self.chance.expovariate(0.1))
        return self.time.isoformat(timespec="milliseconds")[:-6] + "Z"

    def usage(self, size: int) -> tuple[int, int]:
        """Tokens before a response, and of the response, about."""
        before, own = self.context, size // 4 + 1
        self.context += own
        return before, own


def started(session: Session) -> datetime:
    """When a session begins: about a hundred a day."""
    return _START + timedelta(minutes=14 * session.number)


def encoded(lines: Iterator[Line]) -> Iterator[bytes]:
    """The lines as they stand in a file."""
    for line in lines:
        yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


# Claude Code


def _claude_path(session: Session) -> str:
    folder = session.project.root.replace("/", "-")
    return f"claude/projects/{folder}/{_Log(session).session_id}.jsonl"


def _claude_lines(session: Session) -> Iterator[Line]:
    return _Claude(session).lines()


class _Claude:
    def __init__(self, session: Session) -> None:
        self._session, self._log = session, _Log(session)
        self._last: str | None = None
        self._calling = ""
        """The line with the calls that are being answered."""

    def lines(self) -> Iterator[Line]:
        for entry in self._session.entries():
            if isinstance(entry, Call):
                yield self._answer(entry)
            elif isinstance(entry, Compacted):
                yield from self._compaction(entry)
            elif entry.role == "assistant":
                yield from self._response(entry)
            elif entry.role == "system":  # these logs have no system prompt; instructions come as a person's words
                yield self._user(f"<system-reminder>\n{entry.text}\n</system-reminder>", isMeta=True)
            else:
                yield {
                    "type": "file-history-snapshot",
                    "messageId": self._log.uuid(),
                    "isSnapshotUpdate": False,
                    "snapshot": {"trackedFileBackups": {}},
                }
                yield self._user(entry.text)

    def _line(self, kind: str, **content: Any) -> Line:
        parent, self._last = self._last, self._log.uuid()
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self._session.project.root,
            "sessionId": self._log.session_id,
            "version": "2.0.31",
            "gitBranch": "main",
            "type": kind,
            **content,
            "uuid": self._last,
            "timestamp": self._log.tick(),
        }

    def _user(self, text: str, **more: Any) -> Line:
        self._log.context += len(text) // 4
        return self._line("user", message={"role": "user", "content": text}, **more)

    def _response(self, said: Said) -> Iterator[Line]:
        blocks: list[Line] = []
        if said.reasoning:
            signature = base64.b64encode(self._log.chance.randbytes(240)).decode()
            blocks.append({"type": "thinking", "thinking": said.reasoning, "signature": signature})
        if said.text:
            blocks.append({"type": "text", "text": said.text})
        for call in said.calls:
            name, values = self._tool(call)
            blocks.append({"type": "tool_use", "id": f"toolu_{call.id}", "name": name, "input": values})
        own, request = f"msg_{self._log.chance.getrandbits(96):024x}", f"req_{self._log.chance.getrandbits(96):024x}"
        before, tokens = self._log.usage(len(said.text) + len(said.reasoning) + 200 * len(said.calls))
        usage = {
            "input_tokens": 4,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": before,
            "output_tokens": tokens,
            "service_tier": "standard",
        }
        for block in blocks:
            message = {
                "model": MODEL,
                "id": own,
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": usage,
            }
            yield self._line("assistant", message=message, requestId=request)

    def _answer(self, call: Call) -> Line:
        text = f"Exit code 1\n{call.result}" if call.is_error and call.tool == "shell" else call.result
        self._log.context += len(text) // 4
        block = {"tool_use_id": f"toolu_{call.id}", "type": "tool_result", "content": text, "is_error": call.is_error}
        shown: Any = f"Error: {text}" if call.is_error else self._shown(call)
        return self._line("user", message={"role": "user", "content": [block]}, toolUseResult=shown)

    def _shown(self, call: Call) -> Line:
        """The result as the log repeats it for the screen."""
        if call.tool == "shell":
            return {"stdout": call.result, "stderr": "", "interrupted": False, "isImage": False}
        if call.tool == "read":
            return {"type": "text", "file": {"filePath": self._absolute(call), "content": call.result}}
        if call.tool == "edit":
            return {"filePath": self._absolute(call), "oldString": call.values["old"], "newString": call.values["new"]}
        return {"content": call.result}

    def _absolute(self, call: Call) -> str:
        return f"{self._session.project.root}/{call.values['path']}"

    def _tool(self, call: Call) -> tuple[str, Line]:
        values = call.values
        if call.tool == "shell":
            return "Bash", {"command": values["command"]}
        if call.tool == "read":
            more = {"limit": values["limit"]} if values.get("limit", 0) > 400 else {}
            return "Read", {"file_path": self._absolute(call), **more}
        if call.tool == "search":
            return "Grep", {"pattern": values["pattern"], "output_mode": "content", "-n": True}
        if call.tool == "edit":
            return "Edit", {"file_path": self._absolute(call), "old_string": values["old"], "new_string": values["new"]}
        if call.tool == "create":
            return "Write", {"file_path": self._absolute(call), "content": values["text"]}
        if call.tool == "todo":
            items = [{"content": text, "status": state, "activeForm": text} for text, state in values["items"]]
            return "TodoWrite", {"todos": items}
        return "mcp__tracker__lookup", values

    def _compaction(self, entry: Compacted) -> Iterator[Line]:
        yield self._line(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            isMeta=False,
            compactMetadata={"trigger": "auto", "preTokens": entry.tokens_before + _BASE_CONTEXT},
        )
        yield self._user(entry.summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        self._log.context = _BASE_CONTEXT + len(entry.summary) // 4


# Codex


def _codex_path(session: Session) -> str:
    at = started(session)
    return f"codex/sessions/{at:%Y/%m/%d}/rollout-{at:%Y-%m-%dT%H-%M-%S}-{_Log(session).session_id}.jsonl"


def _codex_lines(session: Session) -> Iterator[Line]:
    return _Codex(session).lines()


class _Codex:
    def __init__(self, session: Session) -> None:
        self._session, self._log = session, _Log(session)
        self._total = 0

    def lines(self) -> Iterator[Line]:
        entries = self._session.entries()
        first = next(entries)
        system = first.text if isinstance(first, Said) and first.role == "system" else None
        root = self._session.project.root
        meta: Line = {
            "id": self._log.session_id,
            "timestamp": self._log.tick(),
            "cwd": root,
            "originator": "codex_cli",
            "cli_version": "0.63.0",
            "source": "cli",
            "model_provider": "openai",
        }
        yield self._line("session_meta", meta | ({"instructions": system} if system is not None else {}))
        yield self._line("turn_context", {"cwd": root, "model": MODEL, "approval_policy": "never", "effort": "medium"})
        if system is None:
            yield from self._entry(first)
        for entry in entries:
            yield from self._entry(entry)

    def _line(self, kind: str, payload: Line) -> Line:
        return {"timestamp": self._log.tick(), "type": kind, "payload": payload}

    def _entry(self, entry: Entry) -> Iterator[Line]:
        if isinstance(entry, Compacted):
            yield self._line("compacted", {"message": entry.summary})
        elif isinstance(entry, Call):
            self._log.context += len(entry.result) // 4
            kind = "custom_tool_call_output" if entry.tool in ("edit", "create") else "function_call_output"
            body = {"output": entry.result, "metadata": {"exit_code": int(entry.is_error), "duration_seconds": 0.1}}
            output = orjson.dumps(body).decode()
            yield self._line("response_item", {"type": kind, "call_id": f"call_{entry.id}", "output": output})
        elif entry.role == "assistant":
            yield from self._response(entry)
        else:
            self._log.context += len(entry.text) // 4
            part = {"type": "input_text", "text": entry.text}
            yield self._line("response_item", {"type": "message", "role": "user", "content": [part]})
            yield self._line("event_msg", {"type": "user_message", "message": entry.text})

    def _response(self, said: Said) -> Iterator[Line]:
        if said.reasoning:
            summary = [{"type": "summary_text", "text": said.reasoning}]
            sealed = base64.b64encode(self._log.chance.randbytes(300)).decode()
            item: Line = {"type": "reasoning", "summary": summary, "content": None, "encrypted_content": sealed}
            yield self._line("response_item", item)
        if said.text:
            part = {"type": "output_text", "text": said.text}
            yield self._line("response_item", {"type": "message", "role": "assistant", "content": [part]})
            yield self._line("event_msg", {"type": "agent_message", "message": said.text})
        for call in said.calls:
            yield self._line("response_item", self._tool(call))
        before, own = self._log.usage(len(said.text) + len(said.reasoning) + 200 * len(said.calls))
        self._total += before + own
        last = {"input_tokens": before, "output_tokens": own, "total_tokens": before + own}
        total = {"input_tokens": self._total, "output_tokens": own, "total_tokens": self._total}
        info = {"total_token_usage": total, "last_token_usage": last}
        yield self._line("event_msg", {"type": "token_count", "info": info})

    def _tool(self, call: Call) -> Line:
        values, id = call.values, f"call_{call.id}"
        if call.tool in ("edit", "create"):
            return {
                "type": "custom_tool_call",
                "status": "completed",
                "call_id": id,
                "name": "apply_patch",
                "input": _patch(call),
            }
        if call.tool == "todo":
            plan = [{"step": text, "status": state} for text, state in values["items"]]
            return _function(id, "update_plan", {"plan": plan})
        if call.tool == "other":
            return _function(id, "tracker__lookup", values)
        command = values.get("command") or f'rg -n "{values.get("pattern")}"'
        if call.tool == "read":
            command = f"sed -n '1,{values.get('limit', 200)}p' {values['path']}"
        return _function(id, "shell_command", {"command": command, "workdir": self._session.project.root})


def _function(id: str, name: str, values: Line) -> Line:
    return {"type": "function_call", "name": name, "arguments": orjson.dumps(values).decode(), "call_id": id}


def _patch(call: Call) -> str:
    if call.tool == "create":
        body = "\n".join(f"+{line}" for line in call.values["text"].split("\n"))
        return f"*** Begin Patch\n*** Add File: {call.values['path']}\n{body}\n*** End Patch"
    old = "\n".join(f"-{line}" for line in call.values["old"].split("\n"))
    new = "\n".join(f"+{line}" for line in call.values["new"].split("\n"))
    return f"*** Begin Patch\n*** Update File: {call.values['path']}\n@@\n{old}\n{new}\n*** End Patch"


FORMATS = {
    written.name: written
    for written in (
        LogFormat(
            "claude_code", _claude_lines, _claude_path, numbers_lines=True, joins_responses=False, has_system=False
        ),
        LogFormat(
            "codex_rollout", _codex_lines, _codex_path, numbers_lines=False, joins_responses=True, has_system=True
        ),
    )
}
