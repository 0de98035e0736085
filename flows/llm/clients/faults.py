"""Faults of a try that was answered with an error, as a CallFault.

Written after what the providers' documentation says, and what compatible servers send (vLLM, llama.cpp, Ollama,
LiteLLM, OpenRouter): no two write errors in the same shape.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from flows.llm.clients.transport import CallFault, FaultKind, TokenUse
from flows.llm.retry_after import Raw, wait_asked

LONGEST_REASON = 300
"""Characters of a server's own words; some send the whole request back."""

_OVERFLOW = re.compile(
    r"context[_ ](length|window|size)[_ ]?(is |was )?exceed|exceed_context_size|maximum context length|max_model_len|"
    r"exceeds? (the |its |this )?(\w+('s)? )?(available |maximum |max )?context|prompt is too long|input is too long|"
    r"too many (input |prompt )?tokens|exceeds? (the )?(input |prompt )?token limit|input length .{0,60}exceed|"
    r"longer than the (maximum )?(model|context)|input tokens? exceeds? the|"
    r"string too long\. Expected a string with maximum length \d{6,}",  # the text of a message; names may have 64
    re.IGNORECASE,
)
_NO_MONEY = set(
    """insufficient_quota billing_hard_limit_reached billing_not_active billing_error access_terminated
    contract_spend_limit_reached enforced_spend_limit_reached organization_on_hold account_deactivated""".split()
)
_NO_MONEY_SAID = re.compile(
    r"credit balance is too low|exceeded your current quota|insufficient (credits|balance)", re.I
)
_REFUSED = {"content_filter", "content_policy_violation", "invalid_prompt", "data_inspection_failed"}
_REFUSED_SAID = re.compile(r"content (management )?policy|flagged|moderation", re.IGNORECASE)
_TOO_LARGE_SAID = re.compile(r"request too large", re.IGNORECASE)
_NOT_TAKEN = re.compile(
    r"unsupported|not support|n't support|unrecogni[sz]ed|unknown|unexpected|extra (inputs|fields)|not permitted|"
    r"not allowed|not available|deprecated|not implemented|cannot (both )?be (used|set|specified)|must be|can only be",
    re.IGNORECASE,
)
_TAGS = re.compile(r"<(style|script|head)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_SECRET = re.compile(r"\b(?:sk|pk|rk|key|gsk|xai|hf)[-_][A-Za-z0-9_\-*.]{8,}|(?<=Bearer )\S+", re.IGNORECASE)


_STATUS = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "server_error": 500,
    "internal_error": 500,
    "api_error": 500,
    "timeout": 504,
    "timeout_error": 504,
    "overloaded_error": 529,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}
"""Of errors that come without one."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """The content of an error response; empty fields are unknown."""

    status: int
    message: str = ""
    code: str = ""
    """The most exact code that it has."""
    type: str = ""
    param: str = ""

    @property
    def head(self) -> str:
        """The server's own words, without an echo of the request behind them."""
        return self.message[:LONGEST_REASON]

    def names(self, *parameters: str) -> str | None:
        """The first of these parameters that an error about the request itself names."""
        if self.status not in (400, 422):
            return None
        for name in parameters:
            if self.param == name or self.param.startswith((name + ".", name + "[")):
                return name
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.head):
                return name
        return None

    def refuses(self, *parameters: str) -> str | None:
        """The first that it names as one that the server does not take, whatever its value."""
        return self.names(*parameters) if _NOT_TAKEN.search(f"{self.code} {self.head}") else None


class Rejection(CallFault):
    """A request that the server does not take, with its words: another form of it may be taken."""

    def __init__(self, kind: FaultKind, reason: str, said: ErrorReply, *, wait: float | None = None) -> None:
        super().__init__(kind, reason, wait=wait)
        self.said = said


def clean_text(text: str, keys: Sequence[str] = ()) -> str:
    """A server's words on one line, cut, without these keys and without what looks like one."""
    for key in keys:
        text = text.replace(key, "[key]")
    text = _SECRET.sub("[key]", " ".join(text.split()))
    return text if len(text) <= LONGEST_REASON else text[:LONGEST_REASON] + "…"


def read_error(status: int, content: bytes) -> ErrorReply:
    """Read an error response, whatever its shape."""
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        text = content[:2000].decode("utf-8", "replace")
        return ErrorReply(status, _TAGS.sub(" ", text))
    return error_reply(status, body)


def error_reply(status: int, body: Any) -> ErrorReply:
    """Read an error response from its parsed body."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return ErrorReply(status, str(body))
    error = body.get("error", body)
    if not isinstance(error, dict):
        return ErrorReply(status, str(error), type=_text(body.get("error_type")))
    details, metadata = (
        found if isinstance(found := error.get(name), dict) else {} for name in ("details", "metadata")
    )
    message = _text(error.get("message")) or _text(error.get("detail") or error.get("details") or "")
    if raw := _text(metadata.get("raw")):  # a gateway's own message says nothing: "Provider returned error"
        message = f"{message}: {raw}"
    code = _text(details.get("error_code")) or _text(error.get("code"))
    return ErrorReply(status, message, code, _text(error.get("type")), _text(error.get("param")))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def status_fault(said: ErrorReply, raw: Raw, keys: Sequence[str] = ()) -> CallFault:
    """The fault that a response with this status is."""
    kind = _kind(said)
    words = clean_text(said.message or said.code or said.type or "no reason given", keys)
    reason = f"status {said.status}: {words}"
    waits = kind in ("rate_limited", "overloaded", "server")
    return Rejection(kind, reason, said, wait=wait_asked(raw, said.message) if waits else None)


def _kind(said: ErrorReply) -> FaultKind:
    status, head = said.status, said.head
    if said.code in _NO_MONEY or said.type in _NO_MONEY or _NO_MONEY_SAID.search(head):
        return "unusable"
    if said.code.startswith("compaction_"):
        return "overloaded" if said.code == "compaction_unavailable" else "rejected"
    if status == 429:
        return "rejected" if _TOO_LARGE_SAID.search(head) else "rate_limited"
    if status == 413:
        return "overflow"
    if status in (400, 422, 500) and _OVERFLOW.search(f"{said.code} {said.type} {head}"):
        return "overflow"
    if said.code in _REFUSED or (status in (400, 403) and _REFUSED_SAID.search(head)):
        return "refused"
    if status == 403 and not said.code and not said.type:
        return "rejected"  # a page of a wall in front of the provider, which minds this prompt
    if status in (401, 402, 403, 404) or status < 400:
        return "unusable"
    if status in (503, 529):
        return "overloaded"
    return "server" if status >= 500 or status in (408, 409) else "rejected"


def body_fault(body: Mapping[str, Any], raw: Raw, keys: Sequence[str], use: TokenUse | None = None) -> CallFault:
    """The fault of an error that came in a response of status 200, as some gateways and the Responses API send it."""
    said = error_reply(200, body)
    status = int(said.code) if said.code.isdigit() else _STATUS.get(said.code) or _STATUS.get(said.type) or 400
    found = status_fault(ErrorReply(status, said.message, said.code, said.type, said.param), raw, keys)
    found.use = use
    return found
