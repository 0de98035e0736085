"""Message histories of Pydantic AI: requests and responses, as its ``ModelMessagesTypeAdapter`` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.account import Kind
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, MessageDraft, SessionDraft
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, as_list, need_list, need_object, nested, objects_in, text_or_none

NAME = "pydantic_ai"
_KINDS = ("request", "response")
_RESULTS = ("tool-return", "builtin-tool-return", "retry-prompt")
_CALLS = ("tool-call", "builtin-tool-call")
_PROMPTS = ("user-prompt", "retry-feedback", "speech")
_BESIDE = {
    *("instruction", "instruction-digest", "instruction-baseline", "tool-availability-delta"),
    *("capability-load-delta", "model-settings-delta"),
}
"""Parts of a request that no model is sent as they are."""


def detect(head: Head) -> bool:
    """Whether there is a request or a response with parts of Pydantic AI."""
    return any(map(_is_message, [*head.values(5), *_wrapped(head.document)[:5]])) or any(
        _is_message(message) for record in head.records[:5] for message in _wrapped(record)[:5]
    )


def _is_message(value: Any) -> bool:
    return nested(value, "kind") in _KINDS and any("part_kind" in part for part in objects_in(value.get("parts")))


def _wrapped(value: Any) -> list[Any]:
    return as_list(nested(value, "messages"))


def read(source: Source) -> Iterator[Transcript]:
    """The conversations, one after the other: a message that is written again counts once.

    A list without ids on a line of its own is a conversation of its own, unless it begins with what was said before.
    """
    reading = _Reading(source, None)
    for where, ref, value in source.values(1):
        held = value["messages"] if isinstance(value, dict) and "messages" in value else None
        if held and reading.seen and reading.native is None and not reading.goes_on_with(as_list(held)):
            yield from reading.session.build(NAME, None)
            reading = _Reading(source, None)
        for index, message in enumerate([value] if held is None else as_list(held)):
            own = text_or_none(nested(message, "conversation_id"))
            if own is not None and own != reading.native:
                if reading.native is not None:
                    yield from reading.session.build(NAME, reading.native)
                    reading = _Reading(source, own)
                reading.native = own
            reading.ref = ref if held is None else f"{ref}#{index}"
            source.guard(reading.take, where, message)
    yield from reading.session.build(NAME, reading.native)


class _Reading:
    def __init__(self, source: Source, native: str | None) -> None:
        self.session = SessionDraft(source)
        self.native = native
        self.ref = source.name
        self.where: int | None = None
        self.seen: set[str] = set()
        self.instructions: set[str] = set()

    def goes_on_with(self, messages: list[Any]) -> bool:
        """Whether a list names its conversation, or begins with a message that is there already."""
        return any(nested(one, "conversation_id") for one in messages) or dumps(messages[0]) in self.seen

    def take(self, where: int, message: Any) -> None:
        """Adds the messages that a request or a response is."""
        self.where = where
        message = need_object(message, "a message")
        kind, parts = message.get("kind"), need_list(message.get("parts"), "parts")
        if kind not in _KINDS:
            raise MalformedError(f"kind is {kind!r}, expected request or response")
        body = dumps(message)
        is_again = "timestamp" in body and body in self.seen
        self.seen.add(body)
        if is_again:
            self._leave_out(kind, objects_in(parts))
        elif kind == "request":
            self._request(message, parts)
        else:
            self._response(message, parts)

    def _leave_out(self, kind: str, parts: list[Record]) -> None:
        if kind == "response":
            self.session.leave_out(DUPLICATE, "assistant")
        for part in parts:
            role = _kind(part)
            self.session.leave_out(DUPLICATE, role, count=role is not None)

    def _request(self, message: Record, parts: list[Any]) -> None:
        session, time = self.session, iso_time(message.get("timestamp"))
        for part in parts:
            with session.source.setting_aside(self.where, self.ref, part):
                if _is_system(part):
                    session.say("system", text_of(part.get("content")), self.ref, time)
        prompt = message.get("instructions")
        if isinstance(prompt, str) and prompt and prompt not in self.instructions:
            self.instructions.add(prompt)
            session.say("system", prompt, self.ref, time)
        for part in parts:
            with session.source.setting_aside(self.where, self.ref, part):
                if not _is_system(part):
                    self._requested(need_object(part, "a part"), time)

    def _requested(self, part: Record, time: str | None) -> None:
        session, kind = self.session, part.get("part_kind")
        time = iso_time(part.get("timestamp")) or time
        if kind == "user-prompt":
            session.say("user", _show(part.get("content")), self.ref, time, typed=True)
        elif kind == "speech":
            session.say("user", _speech(part), self.ref, time, typed=True)
        elif kind == "retry-feedback" or (kind == "retry-prompt" and not part.get("tool_name")):
            session.say("user", _show(part.get("content")), self.ref, time, is_harness=True)
        elif kind in _RESULTS:
            self._result(part, time)
        elif kind == "compaction":
            # What the summary took the place of is not in the history: none of its messages left.
            session.compacted(summary=text_of(part.get("content")), dropped=(), summary_at=session.number_kept())
        elif kind == "instruction-delta" and part.get("content"):
            session.say("system", text_of(part["content"]), self.ref, time)
        elif kind in _BESIDE or kind == "instruction-delta":
            session.leave_out(BOOKKEEPING)
        else:
            raise MalformedError(f"a part of an unknown kind {kind!r}")

    def _result(self, part: Record, time: str | None) -> None:
        failed = part.get("part_kind") == "retry-prompt" or part.get("outcome", "success") != "success"
        content = part.get("content")
        text = _show(content) if isinstance(content, str) or _has_files(content) else dumps(content)
        self.session.result(part.get("tool_call_id"), text, self.ref, time, is_error=failed, name=part.get("tool_name"))

    def _response(self, message: Record, parts: list[Any]) -> None:
        session, time = self.session, iso_time(message.get("timestamp"))
        for part in parts:
            if nested(part, "part_kind") == "compaction":
                with session.source.setting_aside(self.where, self.ref, part):
                    self._compaction(part)
        draft = session.respond(None, self.ref, time)
        for part in parts:
            with session.source.setting_aside(self.where, self.ref, part):
                self._responded(need_object(part, "a part"), draft, time)
        session.model = text_or_none(message.get("model_name")) or session.model
        used = as_dict(message.get("usage"))
        input = used.get("input_tokens", used.get("request_tokens"))
        output = used.get("output_tokens", used.get("response_tokens"))
        session.use(None, make_usage(input, output, used.get("cache_read_tokens"), used.get("cost")))

    def _compaction(self, part: Record) -> None:
        """The provider's own: all that was said gives way to it."""
        summary = text_of(part.get("content"))
        said = [draft for draft in self.session.drafts if draft.role != "system"]
        self.session.compacted(summary=summary, dropped=said, has_opaque_summary=not summary)

    def _responded(self, part: Record, draft: MessageDraft, time: str | None) -> None:
        kind = part.get("part_kind")
        if kind == "text":
            draft.add_text(text_of(part.get("content")))
        elif kind == "thinking":
            draft.add_reasoning(part.get("content"))
        elif kind in _CALLS:
            self.session.call(draft, part.get("tool_call_id"), part.get("tool_name"), part.get("args"))
        elif kind == "builtin-tool-return":
            self._result(part, time)
        elif kind == "file":
            draft.add_text(_show(part.get("content")))
        elif kind == "speech":
            draft.add_text(_speech(part))
        elif kind != "compaction":
            raise MalformedError(f"a part of an unknown kind {kind!r}")


def _is_system(part: Any) -> bool:
    return bool(nested(part, "part_kind") == "system-prompt")


def _kind(part: Record) -> Kind | None:
    """The kind that a part is counted as when it is left out; pieces of a response have none."""
    kind = part.get("part_kind")
    if kind == "retry-prompt" and not part.get("tool_name"):
        return "user"
    kinds: list[tuple[tuple[str, ...], Kind]] = [
        (("system-prompt",), "system"),
        (_PROMPTS, "user"),
        (_RESULTS, "tool"),
        (_CALLS, "tool_call"),
    ]
    return next((role for named, role in kinds if kind in named), None)


def _speech(part: Record) -> str:
    return text_of(part.get("transcript")) or "[audio]"


def _has_files(content: Any) -> bool:
    return any(isinstance(_item(item), dict) for item in (content if isinstance(content, list) else [content]))


def _show(content: Any) -> str:
    """The text of a part for the model: text, marks for files, any other value as JSON."""
    if isinstance(content, str) or content is None:
        return text_of(content)
    given = content if isinstance(content, list) else [content]
    items = [dumps(item) if (shown := _item(item)) is None else shown for item in given]
    return text_of([item for item in items if item != ""])


def _item(item: Any) -> Any:
    """A text, a mark for a file; None for a value that is neither."""
    kind = nested(item, "kind")
    if isinstance(item, str):
        return item
    if kind in ("text-content", "structured-content"):
        return text_of(item.get("content")) or dumps(item.get("value"))
    if kind == "cache-point":
        return ""
    if kind in ("binary", "uploaded-file") or (isinstance(kind, str) and kind.endswith("-url") and "url" in item):
        media = str(item.get("media_type"))
        what = "image" if media.startswith("image/") or kind == "image-url" else "file"
        return {"type": what, **{key: item[key] for key in ("data", "media_type", "url", "file_id") if key in item}}
    return None


FORMAT = SourceFormat(
    NAME,
    "message histories of Pydantic AI (`all_messages_json`, `ModelMessagesTypeAdapter`): a list, or JSON lines",
    "messages of `kind` request or response whose `parts` have a `part_kind`",
    detect,
    read,
    order=112,
    of_list=lambda messages: {"messages": messages},
)
