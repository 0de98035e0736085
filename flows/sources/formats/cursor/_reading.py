"""A chat of Cursor while it is read, bubble by bubble: a prompt, or a piece of a response."""

from __future__ import annotations

from typing import Any

import orjson

from flows.sources.reading.account import Kind
from flows.sources.reading.base import MalformedError, Record, Source
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, REWOUND, MessageDraft, SessionDraft
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, as_list, first_text, nested, objects_in, text_or_none

EMPTY_MESSAGE = "empty message"
PERSON, MODEL = 1, 2
_SUMMARIZED = 22
"""``capabilityType`` of the bubble that stands where the history was summarized."""
Bubble = tuple[str, Any, str]
"""Id, the bubble, where it was read."""


class Reading:
    """One chat while it is read."""

    def __init__(self, source: Source, composer: Record) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.composer = composer
        self.answer: MessageDraft | None = None
        """The response that the next piece belongs to: until a result or a prompt comes."""
        self.ends: dict[str, int] = {}
        """Id of a bubble → how many messages there were behind it."""
        self.summarized: set[str] = set()
        """Ids of the last bubbles that summaries stand for."""

    def read(self, bubbles: list[Bubble]) -> SessionDraft:
        """The chat of these bubbles, in their order."""
        latest = as_dict(self.composer.get("latestConversationSummary"))
        places: list[Any] = [own for own, bubble, _ in bubbles if _is_place(bubble)] or [latest.get("lastBubbleId")]
        for own, bubble, ref in bubbles:
            with self.source.setting_aside(None, ref, bubble):
                self._take(own, bubble, ref)
            for name in (own, nested(bubble, "serverBubbleId")):
                if isinstance(name, str):
                    self.ends.setdefault(name, len(self.session.drafts))
            if own == places[-1] and latest.get("summary"):
                self._summary(latest["summary"])
            elif _is_place(bubble):
                self._summary(None)
        self._describe()
        return self.session

    def leave_out(self, bubble: Record) -> None:
        """Counts a bubble that the conversation no longer has."""
        is_call = bool(bubble.get("toolFormerData"))
        kind: Kind | None = "user" if _kind(bubble) == PERSON else "assistant" if _kind(bubble) == MODEL else None
        self.session.leave_out(REWOUND, kind)
        self.session.leave_out(REWOUND, "tool_call", int(is_call))

    def _describe(self) -> None:
        session, composer = self.session, self.composer
        session.title = text_or_none(composer.get("name"))
        uri = nested(composer, "workspaceIdentifier", "uri")
        session.cwd = first_text(nested(uri, "fsPath"), nested(uri, "path"))
        session.model = _model(nested(composer, "modelConfig", "modelName")) or session.model
        session.started_at = iso_time(composer.get("createdAt"))
        session.ended_at = iso_time(composer.get("lastUpdatedAt"))
        cents = [nested(used, "costInCents") for used in as_dict(composer.get("usageData")).values()]
        known = [cost for cost in cents if type(cost) in (int, float)]
        session.use("cost", make_usage(cost=sum(known) / 100) if known else None)

    def _take(self, own: str, bubble: Any, ref: str) -> None:
        kind = _kind(bubble)
        if kind not in (PERSON, MODEL):
            raise MalformedError(f"type is {kind!r}, expected 1 or 2")
        if own in self.ends:
            self.session.leave_out(DUPLICATE)
            return
        if bubble.get("conversationSummary"):
            self._summary(bubble["conversationSummary"])
        time = iso_time(bubble.get("createdAt"))
        if kind == PERSON:
            self._prompt(bubble, ref, time)
        else:
            self._response(own, bubble, ref, time)

    def _prompt(self, bubble: Record, ref: str, time: str | None) -> None:
        self.answer = None
        written = first_text(bubble.get("text"), bubble.get("rawText")) or _rich_text(bubble.get("richText"))
        texts = [text_of(written), *("[image]" for _ in as_list(bubble.get("images")))]
        text = "\n".join(filter(None, texts))
        if text:
            self.session.say("user", text, ref, time, typed=True)
        else:
            self.session.leave_out(EMPTY_MESSAGE, "user")

    def _response(self, own: str, bubble: Record, ref: str, time: str | None) -> None:
        session = self.session
        session.model = session.model or _model(nested(bubble, "modelInfo", "modelName"))
        counts = [nested(bubble, "tokenCount", key) or None for key in ("inputTokens", "outputTokens")]
        session.use(own, make_usage(*counts))  # newer versions note none: 0
        text, tool = text_of(bubble.get("text") or ""), bubble.get("toolFormerData")
        thoughts = [_thought(one) for one in (bubble.get("thinking"), *as_list(bubble.get("allThinkingBlocks")))]
        if not (text or tool or any(thoughts)):
            session.leave_out(BOOKKEEPING)  # a step without content: a summary's place, a response that was stopped
            return
        if self.answer is None:
            self.answer = session.respond(None, ref, time)
        for thought in thoughts:
            self.answer.add_reasoning(thought)
        self.answer.add_text(text)
        if isinstance(tool, dict):
            self._tool(self.answer, tool, ref, time)

    def _tool(self, answer: MessageDraft, tool: Record, ref: str, time: str | None) -> None:
        """A call and what it came to, which one bubble has."""
        arguments = first_text(tool.get("rawArgs"), tool.get("params")) or tool.get("params")
        call = self.session.call(answer, tool.get("toolCallId"), tool.get("name"), arguments)
        result, error = tool.get("result"), _decode(tool.get("error"))
        failed = bool(error) or tool.get("status") == "error" or nested(tool, "additionalData", "status") == "error"
        texts = [_result_text(result), first_text(nested(error, "modelVisibleErrorMessage"), error) if error else None]
        text = "\n".join(filter(None, texts))
        if text or tool.get("status") in ("completed", "error"):
            self.session.result(call, text, ref, time, is_error=failed, name=tool.get("name"))
            self.answer = None

    def _summary(self, summary: Any) -> None:
        """Notes a summary that replaced the history up to a bubble; some versions keep it from the log."""
        told = as_dict(_decode(summary))
        last = text_or_none(told.get("truncationLastBubbleIdInclusive"))
        if last in self.summarized:
            return  # the chat has its latest summary beside it
        end = self.ends.get(last or "")
        if last is not None:
            self.summarized.add(last)
        self.session.compacted(
            summary=text_or_none(told.get("summary")),
            dropped=None if end is None else self.session.drafts[:end],
            summary_at=0,
            has_opaque_summary=not told.get("summary"),
        )
        self.answer = None


def updated_at(composer: Any) -> float:
    """The time of the last change to a chat, in milliseconds since the epoch; 0 if unknown."""
    times = (nested(composer, key) for key in ("lastUpdatedAt", "createdAt"))
    return next((time for time in times if type(time) in (int, float)), 0)


def order_of(composer: Record) -> list[str]:
    """The ids of the bubbles of a chat, in their order."""
    ids = (header.get("bubbleId") for header in objects_in(composer.get("fullConversationHeadersOnly")))
    return [own for own in ids if isinstance(own, str)]


def _is_place(bubble: Any) -> bool:
    """Whether a bubble marks the place of a summary without holding the summary itself."""
    return nested(bubble, "capabilityType") == _SUMMARIZED and not nested(bubble, "conversationSummary")


def _kind(bubble: Any) -> Any:
    return nested(bubble, "type")


def _model(name: Any) -> str | None:
    return text_or_none(name) if name != "default" else None


def _thought(thinking: Any) -> str | None:
    return first_text(thinking, nested(thinking, "text"), nested(thinking, "thinking"))


def _decode(value: Any) -> Any:
    """The value in a string of JSON; any other string as it is."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def _rich_text(value: Any) -> str:
    """The text of a prompt in the form of Cursor's editor, a tree as JSON; a paragraph is a line."""
    lines: list[str] = []
    waiting: list[Any] = [nested(_decode(value), "root")]
    while waiting:
        node = waiting.pop()
        if nested(node, "type") == "paragraph" or not lines:
            lines.append("")
        lines[-1] += text_or_none(nested(node, "text")) or ""
        waiting += reversed(as_list(nested(node, "children")))
    return "\n".join(lines).strip()


def _result_text(result: Any) -> str:
    """A result as Cursor notes it: mostly an object as JSON, which stays as it is."""
    value = _decode(result)
    if isinstance(value, str):
        return text_of(value)
    return text_of(result) if isinstance(result, str) else ""
