"""Entire's transcript format, version 1 (``transcript.jsonl`` of a checkpoint), a common form for many agents.

Results are inline in their calls; thinking, tool lines and system prompts are left out when it is made
(github.com/entireio/cli, transcript/README.md). A compaction of Claude Code shows only as the text that follows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import block_text, iso_time, text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.session import SessionDraft
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import nested, objects_in, text_or_none

NAME = "entire_compact"
EMPTY = "empty message"
CONTINUED = "This session is being continued from a previous conversation that ran out of context"
"""The beginning of the summary with which Claude Code replaces the history."""
_INJECTED = ("<", "Caveat:", "[Request interrupted", "# AGENTS.md instructions")


def detect(head: Head) -> bool:
    """Whether a line has the version, the type and the content that every line of the format has."""
    return any(_is_line(record) for record in head.records)


def _is_line(record: Record) -> bool:
    version = type(record.get("v")) is int and "content" in record and "message" not in record
    return version and record.get("type") in ("user", "assistant") and not {"agent", "cli_version"}.isdisjoint(record)


def read(source: Source) -> Iterator[Transcript]:
    """The session of the file."""
    reading = _Reading(source)
    source.each(reading.take)
    yield from reading.session.build(NAME, None, identity=reading.first)


class _Reading:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.first: list[str] = []
        """Id of the first response that has one: the log names no session."""

    def take(self, where: int, line: Record) -> None:
        version, kind = line.get("v"), line.get("type")
        if version != 1 or type(version) is not int:
            raise MalformedError(f"version is {version!r}, expected 1")
        ref, time = self.source.ref(where), iso_time(line.get("ts"))
        content = line.get("content")
        blocks = content if isinstance(content, list) else [content] if isinstance(content, str) else []
        if kind == "user":
            self._user(blocks, ref, time)
        elif kind == "assistant":
            self._assistant(where, line, blocks, ref, time)
        else:
            raise MalformedError(f"type is {kind!r}, expected user or assistant")

    def _user(self, blocks: list[Any], ref: str, time: str | None) -> None:
        session, text = self.session, _text(blocks)
        if not text:
            session.leave_out(EMPTY, "user")
        elif text.startswith(CONTINUED):
            session.compacted(summary=text, dropped=[draft for draft in session.drafts if draft.role != "system"])
        else:
            session.say("user", text, ref, time, typed=not text.startswith(_INJECTED))

    def _assistant(self, where: int, line: Record, blocks: list[Any], ref: str, time: str | None) -> None:
        session, own = self.session, text_or_none(line.get("id"))
        own = None if own == "REDACTED" else own
        session.use(own, make_usage(line.get("input_tokens"), line.get("output_tokens")))
        calls = [block for block in objects_in(blocks) if block.get("type") == "tool_use"]
        text = _text([block for block in blocks if nested(block, "type") != "tool_use"])
        if not text and not calls:
            session.leave_out(EMPTY, "assistant")
            return
        if own is not None and not self.first:
            self.first.append(own)
        draft = session.respond(own, ref, time)
        draft.add_text(text)
        for call in calls:
            wanted = text_or_none(call.get("id"))
            call_id = session.call(draft, wanted if wanted != "REDACTED" else None, call.get("name"), call.get("input"))
            result = call.get("result")
            if result is None:
                continue
            if not isinstance(result, dict):
                self.source.quarantine(where, f"a result is {kind_of(result)}, expected an object", result)
            else:
                failed = result.get("status") == "error"
                session.result(call_id, _output(result), ref, time, is_error=failed, name=call.get("name"))


def _text(blocks: list[Any]) -> str:
    texts = []
    for block in blocks:
        if isinstance(block, dict) and "type" not in block and "text" not in block:
            texts.append(dumps(block))
        else:
            texts.append(block_text(block) or "")
    return "\n".join(filter(None, texts))


def _output(result: Record) -> str:
    output = result.get("output")
    return text_of(output) if output is None or isinstance(output, (str, list)) else dumps(output)


FORMAT = SourceFormat(
    NAME,
    "Entire checkpoint transcript, version 1 (one JSON object a line), whatever agent wrote the session",
    "lines of type user or assistant with `v`, `agent` or `cli_version`, and `content`",
    detect,
    read,
    order=180,
    is_made_of_others=True,
)
