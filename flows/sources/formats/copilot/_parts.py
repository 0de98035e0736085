"""The payloads of Copilot CLI's events, and the session of one agent while they are read."""

from __future__ import annotations

import re
from typing import Any

from compaction.transcript import Usage
from flows.sources.reading.account import Kind
from flows.sources.reading.base import Record, Source
from flows.sources.reading.blocks import block_text, text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.session import BOOKKEEPING, REWOUND, MessageDraft, SessionDraft
from flows.sources.reading.usage import make_usage, sum_usages
from flows.sources.reading.values import as_dict, as_list, nested, objects_in, text_or_none

_SPOKEN_KINDS: dict[str, Kind] = {
    "user.message": "user",
    "system.notification": "user",
    "skill.invoked": "user",
    "assistant.message": "assistant",
    "tool.execution_complete": "tool",
    "system.message": "system",
}
_FAILED = re.compile(r"<[^<>\n]{0,80}\bexit code (?!0>)-?\d+>\s*\Z")
"""Its shell tools say in the last line how the command ended; the call itself was a success."""


def outcome(data: Record) -> tuple[str, bool]:
    """The text that the model got for a call, and whether it failed. ``detailedContent`` repeats it for the screen."""
    result, error = data.get("result"), data.get("error")
    texts: list[str] = []
    if isinstance(result, dict):
        content, blocks = result.get("content"), as_list(result.get("contents"))
        if content is None:
            texts.append(text_of([_block(block) for block in blocks]) if blocks else dumps(result))
        else:
            texts.append(text_of(content))
            media = (block for block in blocks if nested(block, "type") in ("image", "audio"))
            texts += [text for block in media if (text := block_text(_block(block)))]
    elif result is not None:
        texts.append(result if isinstance(result, str) else dumps(result))
    if isinstance(error, dict):
        error = error.get("message") or dumps(error)
    if error:
        texts.append(error if isinstance(error, str) else dumps(error))
    text = "\n".join(filter(None, texts))
    return text, data.get("success") is False or bool(error) or _FAILED.search(text[-200:]) is not None


def _block(block: Any) -> Any:
    resource = nested(block, "resource")
    if isinstance(resource, dict):
        return {"type": "text", "text": resource.get("text") or f"[resource {resource.get('uri')}]"}
    return block


def attachment_marks(attachments: Any, text: str) -> list[str]:
    """Marks for the attachments of a prompt that its text does not name."""
    marks = []
    for one in objects_in(attachments):
        data, mime = one.get("data"), str(one.get("mimeType") or "")
        if isinstance(data, str) and data:
            kind = "image" if mime.startswith("image/") else "file"
            marks.append(block_text({"type": kind, "data": data, "mimeType": mime or None}) or "")
            continue
        name = next(
            (one[k] for k in ("path", "filePath", "url", "displayName", "title") if isinstance(one.get(k), str)), None
        )
        if name and name not in text:
            marks.append(f"[{one.get('type') or 'file'} {name[:200]}]")
    return marks


def shutdown_usage(metrics: Any) -> Usage | None:
    """The usage of a run over its models; the input counts hold the cached part."""
    usages = (usage_of(as_dict(nested(metric, "usage"))) for metric in as_dict(metrics).values())
    found = [usage for usage in usages if usage is not None]
    return sum_usages(found) if found else None


def usage_of(figures: Record) -> Usage | None:
    """The usage of one model call, or of all calls of a model."""
    return make_usage(figures.get("inputTokens"), figures.get("outputTokens"), figures.get("cacheReadTokens"))


class AgentSession:
    """The session of one agent while it is read: the main one, or a sub-agent."""

    def __init__(self, source: Source, key: str | None) -> None:
        self.key = key
        self.session = SessionDraft(source)
        self.calls: set[str] = set()
        self.system: str | None = None
        self.reasoning: list[str] = []
        """Blocks of reasoning that were reported before their response."""
        self.announced: list[tuple[str, str, str | None]] = []
        """Prompts that only a hook has told of so far: text, place, time."""
        self.injected: list[tuple[str, MessageDraft]] = []
        """Text that a later message of the user may repeat, with the message that it became."""
        self.compaction_from: int | None = None
        """Number of messages when the current compaction began."""
        self.compaction: Record = {}
        """The data of the event that began it."""
        self.used: dict[str, dict[str, Usage | None]] = {"run": {}, "call": {}, "response": {}}
        """What was used as runs, model calls and responses reported it: the first of these that there is counts."""

    def note(self, kind: str, key: str | None, usage: Usage | None) -> None:
        """Notes the usage of a response or run; of several reports with one key, the last counts."""
        if usage is not None:
            self.used[kind][key or str(len(self.used[kind]))] = usage

    def add_usage(self) -> bool:
        """Adds the usage to the session; returns whether it came from the totals of runs."""
        found = next((used for used in self.used.values() if used), {})
        for key, usage in found.items():
            self.session.use(key, usage)
        return bool(self.used["run"])

    def say_announced(self) -> None:
        """Adds the prompts that only hooks told of; one that comes later after all takes their place."""
        for text, ref, time in self.announced:
            self.injected.append((text, self.session.say("user", text, ref, time, typed=True)))
        self.announced.clear()

    def compact(self, data: Record) -> None:
        """Notes a compaction that has ended: its summary stands for what was said before it began."""
        start, self.compaction_from = self.compaction_from, None
        begun, self.compaction = self.compaction, {}
        session, used = self.session, data.get("compactionTokensUsed")
        if data.get("success") is False:
            session.leave_out(BOOKKEEPING)
            return
        if isinstance(used, dict):
            given, made = (used.get(f"{kind}Tokens", used.get(kind)) for kind in ("input", "output"))
            cached = used.get("cacheReadTokens", used.get("cachedInput"))
            self.note("response", None, make_usage(given, made, cached))
        summary = text_or_none(data.get("summaryContent"))
        session.compacted(
            summary=summary,
            dropped=[draft for draft in session.drafts[:start] if draft.role != "system"],
            tokens_before=data.get("preCompactionTokens") or begun.get("currentTokens"),
            trigger=data.get("trigger") or begun.get("trigger"),
            has_opaque_summary=summary is None,
        )

    def leave_rewound(self, kind: str, data: Record) -> None:
        """Counts an event that a rewind took back."""
        self.session.leave_out(REWOUND, _SPOKEN_KINDS.get(kind))
        if kind == "assistant.message":
            self.session.leave_out(REWOUND, "tool_call", len(as_list(data.get("toolRequests"))))
