"""Messages of Anthropic's API: blocks of text, thinking, calls and results, one list a turn.

Results come in the user's turn; those of tools that the provider runs itself stand in the answer, behind their call.
Compactions of the provider's own show as a ``compaction`` block at the head of an answer, and as edits that a response
says were applied to the prompt.
"""

from __future__ import annotations

from typing import Any

from flows.sources.reading.base import MalformedError, Record
from flows.sources.reading.blocks import block_text, iso_time, text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.kinds import has_only, knows_most, says_kind
from flows.sources.reading.session import BOOKKEEPING, MessageDraft, SessionDraft
from flows.sources.reading.usage import from_anthropic
from flows.sources.reading.values import as_dict, as_list, need_list, need_object, nested, objects_in, text_or_none

CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
THINKING = {"thinking", "redacted_thinking"}
_OPAQUE = {"encrypted_content", "encrypted_index", "encrypted_stdout", "signature", "cache_control", "citations"}
_CLEAR = "clear_tool_uses"


def is_result(kind: Any) -> bool:
    """Whether a block of this type is the result of a call."""
    return isinstance(kind, str) and kind.endswith("tool_result")


def is_block(value: Any) -> bool:
    """Whether a content block is one that only this API has."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind in CALLS:
        return "name" in value
    if is_result(kind):
        return "tool_use_id" in value
    if kind in ("image", "document"):
        return isinstance(value.get("source"), dict) and "type" in value["source"]
    return kind in THINKING or (kind == "compaction" and "content" in value)


def is_message(value: Any) -> bool:
    """Whether a value is a message with such a block, and not one that another API wrote."""
    if not isinstance(value, dict) or value.get("role") not in ("user", "assistant", "system"):
        return False
    content = value.get("content")
    return "tool_calls" not in value and isinstance(content, list) and any(map(is_block, content))


_BLOCKS = frozenset({"text", "image", "document", "tool_reference", "search_result", "container_upload"})


def knows(value: Any) -> bool:
    """Whether a value is a message without blocks of another API, holds such messages, or says no kind."""
    if isinstance(nested(value, "messages"), list):
        return knows_most(knows, value["messages"])
    if not isinstance(value, dict) or "role" not in value:
        return not says_kind(as_dict(value))
    return all(is_block(block) or has_only({"content": [block]}, _BLOCKS) for block in as_list(value.get("content")))


def blocks_of(message: Record) -> list[Any]:
    """The content as a list of blocks."""
    content = message.get("content")
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, dict):
        return [content]
    return need_list(content, "content", "a string or a list of blocks")


class Turns:
    """Adds messages to a session in the order of the log."""

    def __init__(self, session: SessionDraft) -> None:
        self.session = session
        self._cleared = 0

    def take(self, message: Any, ref: str, *, time: str | None = None) -> MessageDraft | None:
        """One message.

        Raises:
            MalformedError: It does not have the shape of a message.
        """
        message = need_object(message, "a message")
        role = message.get("role")
        time = iso_time(message.get("timestamp") or message.get("created_at") or message.get("ts")) or time
        if role == "user":
            self._user(message, ref, time)
            return None
        if role == "system":
            return self.session.say("system", prompt_text(message.get("content")), ref, time)
        if role != "assistant":
            raise MalformedError(f"role is {role!r}, expected user, assistant or system")
        return self.answer(message, ref, time)

    def _user(self, message: Record, ref: str, time: str | None) -> None:
        blocks = blocks_of(message)
        rest = []
        for block in blocks:
            if is_result(nested(block, "type")):
                self.result(block, ref, time)
            else:
                rest.append(block)
        if rest or not blocks:
            texts = [text for block in rest if (text := visible_text(block)) is not None]
            typed = any(text and not text.startswith("<system-reminder>") for text in texts)
            self.session.say("user", "\n".join(texts), ref, time, typed=typed)

    def answer(
        self, message: Record, ref: str, time: str | None, begun: MessageDraft | None = None
    ) -> MessageDraft | None:
        """A response; None when all that it holds is a compaction.

        Args:
            message: The response.
            ref: Where it stands.
            time: When it came.
            begun: The assistant message that the request ended with: the response goes on in the middle of its text.
        """
        blocks = blocks_of(message)
        compactions = [block for block in objects_in(blocks) if block.get("type") == "compaction"]
        for block in compactions:
            self._compaction(block, message)
        self._edits(message.get("context_management"), message)
        self.session.use(text_or_none(message.get("id")), from_anthropic(message.get("usage")))
        if compactions and len(blocks) == len(compactions):
            return None
        draft = begun or self.session.respond(text_or_none(message.get("id")), ref, time)
        head = "\n".join(draft.texts) if begun is not None else ""
        draft.texts = [] if begun is not None else draft.texts
        for block in blocks:
            self._piece(draft, block, ref, time)
        if head:
            draft.texts = [head + "\n".join(draft.texts)]
        return draft

    def _piece(self, draft: MessageDraft, block: Any, ref: str, time: str | None) -> None:
        kind = nested(block, "type")
        if not isinstance(kind, str):
            draft.add_text(visible_text(block) or "")
        elif kind in CALLS:
            self.session.call(draft, block.get("id") or block.get("call_id"), block.get("name"), block.get("input"))
        elif is_result(kind):
            self.result(block, ref, time)
        elif kind in THINKING:
            draft.add_reasoning(block.get("thinking") or block.get("text"))
        elif kind != "compaction":
            draft.add_text(visible_text(block) or "")

    def result(self, block: Record, ref: str, time: str | None) -> MessageDraft | None:
        """A result, of the client's tools or of the provider's."""
        content = block.get("content")
        parts = content if isinstance(content, list) else [content]
        failed = block.get("is_error") is True or any(map(_says_failure, parts))
        return self.session.result(block.get("tool_use_id"), prompt_text(content), ref, time, is_error=failed)

    def _compaction(self, block: Record, message: Record) -> None:
        """The next request replaces what came before the block by the text of the block."""
        summary = text_of(block.get("content")) or None
        is_opaque = summary is None and bool(block.get("encrypted_content"))
        if summary is None and not is_opaque:
            self.session.leave_out(BOOKKEEPING)  # the provider could not compact: nothing changed
            return
        rounds = nested(message, "usage", "iterations") or ()
        counted = from_anthropic(next((one for one in rounds if nested(one, "type") == "compaction"), None))
        self.session.compacted(
            summary=summary,
            dropped=[draft for draft in self.session.drafts if draft.role != "system"],
            tokens_before=counted.input_tokens if counted is not None else None,
            has_opaque_summary=is_opaque,
        )

    def _edits(self, report: Any, message: Record) -> None:
        """Edits that the provider made to the prompt of this response: the oldest results stood there without text."""
        for edit in as_list(nested(report, "applied_edits")):
            kind, count = nested(edit, "type"), nested(edit, "cleared_tool_uses")
            if not (isinstance(kind, str) and kind.startswith(_CLEAR) and isinstance(count, int)):
                self.session.leave_out(BOOKKEEPING)
                continue
            results = [draft for draft in self.session.drafts if draft.role == "tool"]
            # Each response reports on the whole prompt again.
            fresh = results[self._cleared : count]
            if not fresh:
                self.session.leave_out(BOOKKEEPING)
                continue
            self._cleared = count
            usage, freed = from_anthropic(message.get("usage")), edit.get("cleared_input_tokens")
            known = usage is not None and usage.input_tokens is not None and isinstance(freed, int)
            self.session.compacted(
                summary=None,
                dropped=(),
                tokens_before=(usage.input_tokens or 0) + freed if usage is not None and known else None,
                trigger=kind,
                cleared=fresh,
            )


def prompt_text(content: Any) -> str:
    """The visible text of a string, a block or a list of blocks."""
    if content is None or isinstance(content, str):
        return text_of(content)
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(text for block in blocks if (text := visible_text(block)) is not None)


def visible_text(block: Any) -> str | None:
    """The visible text of one block; None for what is no text."""
    if not isinstance(block, dict):
        return block_text(block)
    kind, source = block.get("type"), block.get("source")
    if (
        not isinstance(kind, str)
        or isinstance(block.get("text"), str)
        or kind in (*THINKING, *CALLS, "image", "tool_reference")
    ):
        return block_text(block)
    if kind == "document" and isinstance(source, dict):
        return _document_text(block, source)
    if kind == "search_result":
        return _lines(block.get("title"), source, prompt_text(block.get("content")))
    if kind == "web_search_result":
        return _lines(block.get("title"), block.get("url"), block.get("page_age"))
    if "stdout" in block or "stderr" in block:
        return _lines(block.get("stdout"), block.get("stderr"), prompt_text(block.get("content") or None))
    if "content" in block:
        return _lines(block.get("title"), block.get("url"), prompt_text(block["content"]))
    rest = {key: value for key, value in block.items() if key != "type" and key not in _OPAQUE}
    if rest and ("result" in kind or kind.endswith(("_error", "_output"))):
        return dumps(rest)
    return block_text(block)


def _document_text(block: Record, source: Record) -> str | None:
    """A document that is text is read as text; another one becomes a mark."""
    about = _lines(block.get("title"), block.get("context"))
    if source.get("type") == "text" and isinstance(source.get("data"), str):
        return _lines(about, text_of(source["data"]))
    if source.get("type") == "content":
        return _lines(about, prompt_text(source.get("content")))
    return _lines(about, block_text(block))


def _lines(*parts: Any) -> str:
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def _says_failure(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    code = part.get("return_code")
    return str(part.get("type")).endswith("_error") or (isinstance(code, int) and code != 0)
