"""Items of OpenAI's Responses API, which Codex rollouts and request logs write as they are.

Items of one response carry no common id: assistant items in a row are one response until an output or a prompt
follows. Tools that the provider runs itself hold call and result in one item.
"""

from __future__ import annotations

from typing import Any

import orjson

from compaction.transcript import Role
from flows.sources.reading.account import Kind
from flows.sources.reading.base import MalformedError, Record
from flows.sources.reading.blocks import text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, MessageDraft, SessionDraft
from flows.sources.reading.values import nested, objects_in

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "developer": "system", "system": "system"}
COMPACTIONS = {"compaction", "compaction_summary", "context_compaction"}
ITEM_CALLS = frozenset(
    """function_call custom_tool_call local_shell_call shell_call apply_patch_call computer_call
    web_search_call file_search_call code_interpreter_call image_generation_call mcp_call
    tool_search_call""".split()
)
_NOTICES = frozenset(
    """mcp_list_tools mcp_approval_request mcp_approval_response ghost_snapshot compaction_trigger
    item_reference additional_tools""".split()
)
_PARTS = {"input_text", "output_text", "input_image", "input_file", "refusal", "reasoning_text", "summary_text"}
_ARGUMENTS = ("arguments", "action", "actions", "operation")
_OTHER_ARGUMENTS = ("input", "queries", "code", "revised_prompt")
_INLINE = ("output", "outputs", "results", "result")


def is_item(value: Any) -> bool:
    """Whether a value is an item that no other log has: a call, an output, reasoning, a message with its own parts."""
    if not isinstance(value, dict) or "payload" in value or isinstance(value.get("message"), dict):
        return False
    kind, role, content = value.get("type"), value.get("role"), value.get("content")
    if kind is None or kind == "message":
        has_text = kind == "message" and isinstance(content, str)
        return isinstance(role, str) and role in ROLES and (has_text or _has_parts(content))
    if not isinstance(kind, str):
        return False
    if kind == "reasoning":
        has_content = isinstance(value.get("summary"), list) or "encrypted_content" in value
        return has_content and role is None  # Roo Code has such items among its messages, with a role
    if kind in COMPACTIONS:
        return "encrypted_content" in value
    is_output = kind.endswith("_output") and kind.removesuffix("_output") in ITEM_CALLS
    return (kind in ITEM_CALLS or is_output) and ("call_id" in value or "id" in value)


def is_known(kind: str) -> bool:
    """Whether it is the type of an item."""
    call = kind.removesuffix("_output")
    return call in ITEM_CALLS or kind in {"message", "reasoning", "agent_message"} | COMPACTIONS | _NOTICES


def _has_parts(content: Any) -> bool:
    kinds = [part.get("type") for part in objects_in(content)]
    return any(isinstance(kind, str) and kind in _PARTS for kind in kinds)


class Items:
    """Adds items to a session in the order of the log.

    Args:
        session: Where the messages go.
        has_compactions: Whether an opaque ``compaction`` item is a compaction of its own. A rollout tells of it on
            another line.
        injected: How a prompt begins that gives no title.
        harness: How a prompt begins that a harness wrote.
    """

    def __init__(
        self,
        session: SessionDraft,
        *,
        has_compactions: bool = True,
        injected: tuple[str, ...] = ("<",),
        harness: tuple[str, ...] = (),
    ) -> None:
        self.session = session
        self._has_compactions = has_compactions
        self._injected = injected
        self._harness = harness
        self.response: MessageDraft | None = None
        """The response that the next item may belong to."""
        self._seen: dict[str, str] = {}
        self._ids: set[str] = set()
        self._from = 0

    def end_response(self) -> None:
        """Ends the current response: the next item belongs to another one."""
        self.response = None

    def take(self, item: Record, ref: str, time: str | None = None) -> None:
        """One item.

        Raises:
            MalformedError: It does not have the shape of an item.
        """
        kind = item.get("type") or ("message" if "role" in item else None)
        if not isinstance(kind, str):
            raise MalformedError("an item without a type")
        if self._is_repeated(kind, item):
            self.session.leave_out(DUPLICATE, _kind(kind, item))
        elif kind == "message":
            self._message(item, ref, time)
        elif kind.endswith("_output"):
            self.response = None
            text, failed = output_text(item)
            self.session.result(item.get("call_id") or item.get("id"), text, ref, time, is_error=failed)
        elif kind == "reasoning":
            draft = self._respond(ref, time)
            draft.add_reasoning(text_of(item.get("summary")))
            draft.add_reasoning(_reasoning(item.get("content")))
        elif kind.endswith("_call"):
            self._call(kind, item, ref, time)
        elif kind == "agent_message":
            self._from_agent(item, ref, time)
        elif kind in COMPACTIONS:
            self._compaction()
        elif kind not in _NOTICES and ("content" in item or "role" in item):
            raise MalformedError(f"an item of type {kind}, which is not known")
        elif is_known(kind):
            self.session.leave_out(BOOKKEEPING)
        else:
            self.session.leave_unknown(item)

    def _is_repeated(self, kind: str, item: Record) -> bool:
        """Whether the item is a copy: with its id alone some libraries give all items the same one."""
        own = item.get("id") or item.get("call_id")
        if not isinstance(own, str):
            return False
        if kind == "item_reference":
            return own in self._ids
        self._ids.add(own)
        if own.startswith("__"):
            return False
        key = f"{kind} {own}"
        body = dumps({name: value for name, value in item.items() if name not in ("status", "encrypted_content")})
        if self._seen.get(key) == body:
            return True
        self._seen[key] = body
        return False

    def _message(self, item: Record, ref: str, time: str | None) -> None:
        role = ROLES.get(str(item.get("role")))
        if role is None:
            raise MalformedError(f"role is {item.get('role')!r}, expected one of {', '.join(ROLES)}")
        text = content_text(item.get("content"))
        if role == "assistant":
            self._respond(ref, time).add_text(text)
            return
        self.response = None
        if role == "system":
            self.session.say("system", text, ref, time)
        else:
            is_harness = text.startswith(self._harness)
            typed = not text.startswith(self._injected)
            self.session.say("user", text, ref, time, typed=typed, is_harness=is_harness)

    def _from_agent(self, item: Record, ref: str, time: str | None) -> None:
        """What another agent wrote to this one (Codex); some of it only the provider can read."""
        self.response = None
        text = content_text(item.get("content"))
        self.session.say("user", text or f"[encrypted message of {item.get('author') or 'another agent'}]", ref, time)

    def _call(self, kind: str, item: Record, ref: str, time: str | None) -> None:
        draft = self._respond(ref, time)
        name = item.get("name") or kind.removesuffix("_call")
        own = self.session.call(draft, item.get("call_id") or item.get("id"), name, _arguments(item))
        key = next((key for key in _INLINE if item.get(key) is not None), None)
        if kind == "mcp_call" and item.get("error"):
            error = item["error"]
            text = error if isinstance(error, str) else dumps(error)
            self.session.result(own, text, ref, time, is_error=True, name=name)
        elif key is not None and kind not in ("function_call", "custom_tool_call"):
            self.session.result(own, _inline_text(item[key]), ref, time, name=name)

    def _respond(self, ref: str, time: str | None) -> MessageDraft:
        if self.response is None:
            self.response = self.session.respond(None, ref, time)
        return self.response

    def _compaction(self) -> None:
        """Notes a compaction: an opaque item replaces what came before it, but not the prompts that it returns."""
        self.response = None
        if not self._has_compactions:
            self.session.leave_out(BOOKKEEPING)
            return
        said = self.session.drafts
        happened = any(draft.role in ("assistant", "tool") for draft in said[self._from :])
        gone = [draft for draft in said if draft.role != "system"] if happened else []
        self._from = len(said)
        self.session.compacted(summary=None, dropped=gone, has_opaque_summary=True)


def _kind(kind: str, item: Record) -> Kind | None:
    """The kind of message that an item would have become, to count it as left out."""
    if kind == "message":
        return ROLES.get(str(item.get("role")))
    if kind.endswith("_output"):
        return "tool"
    return "tool_call" if kind.endswith("_call") else None


def content_text(content: Any) -> str:
    """The visible text of a message's content; a refusal and a transcript are text too."""
    if not isinstance(content, list):
        return text_of(content)
    return text_of([_plain(part) for part in content])


def _plain(part: Any) -> Any:
    if isinstance(part, dict) and "text" not in part:
        text = part.get("refusal") or part.get("transcript")
        if isinstance(text, str):
            return {"type": "text", "text": text}
    return part


def _arguments(item: Record) -> Any:
    for key in _ARGUMENTS:
        if item.get(key) is not None:
            return item[key]
    found = {key: item[key] for key in _OTHER_ARGUMENTS if item.get(key) is not None}
    return found or None


def _reasoning(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in objects_in(content) if isinstance(block.get("text"), str))


def output_text(item: Record) -> tuple[str, bool]:
    """The text of an output and whether it is marked as failed; older Codex versions wrap both in JSON."""
    output = item.get("output")
    failed = item.get("status") == "failed"
    if isinstance(output, str) and output.startswith('{"output":'):
        try:
            output = orjson.loads(output)
        except orjson.JSONDecodeError:
            return text_of(output), failed
    if isinstance(output, dict):
        code = nested(output, "metadata", "exit_code")
        failed = failed or output.get("success") is False or (isinstance(code, int) and code != 0)
        if "output" in output or "content" in output:
            output = output.get("output", output.get("content"))
        else:
            return _inline_text([output]), failed
    if output is None and "tools" in item:
        output = dumps(item["tools"])
    if isinstance(output, list):
        codes = [nested(one, "outcome", "exit_code") for one in output]
        return _inline_text(output), failed or any(isinstance(code, int) and code != 0 for code in codes)
    return text_of(output), failed


def _inline_text(value: Any) -> str:
    """The text of the output of a provider's tool: logs, search results, screens."""
    if not isinstance(value, list):
        if isinstance(value, str) and len(value) > 1000 and not any(sign in value[:1000] for sign in " \n{"):
            return f"[data, {len(value) * 3 // 4} bytes]"
        return value if isinstance(value, str) else dumps(value)
    return "\n".join(_one_text(one) for one in value)


def _one_text(one: Any) -> str:
    if not isinstance(one, dict):
        return text_of([one])
    if "stdout" in one or "stderr" in one:
        return "\n".join(text for key in ("stdout", "stderr") if isinstance(text := one.get(key), str) and text)
    if isinstance(one.get("logs"), str):
        return str(one["logs"])
    if one.get("type") == "computer_screenshot":
        return text_of([{**one, "type": "input_image"}])
    if one.get("type") == "image":
        return text_of([{**one, "image_url": one.get("url")}])
    names = [str(one[key]) for key in ("filename", "title", "url") if isinstance(one.get(key), str)]
    if isinstance(one.get("text"), str):
        return "\n".join([*names, text_of([one])])
    return text_of([one]) if isinstance(one.get("type"), str) and not names else dumps(one)
