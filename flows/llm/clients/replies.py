"""Common reading of providers' replies: the model, and the text of the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compaction.model import ModelRequest
from flows.llm.clients.json_replies import json_text
from flows.llm.clients.transport import CallFault, TokenUse
from flows.llm.reasoning_room import reasoning_room
from flows.llm.settings import ModelSettings

_THOUGHT = re.compile(r"\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL)
_REST_OF_THOUGHT = re.compile(r"\A(?:(?!<think(?:ing)?>).)*?^[ \t]*</think(?:ing)?>[ \t]*$", re.DOTALL | re.MULTILINE)
_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4})\Z")
_FILE = re.compile(r"(?:-\d{5}-of-\d{5})?\.gguf\Z")
_QUANTISED = re.compile(r"[-.](?:i?q\d\w*|bf16|f16|f32|mxfp4)\Z")


def same_model(asked: str, got: str) -> bool:
    """Whether the name that a provider gives is that of the model that was asked.

    Case, the path or organisation before it, a dated snapshot of an undated name (``NAME-2025-08-07``), and what stands
    behind the name of a ``.gguf`` file make no difference.
    """
    asked, got = (
        name.strip().lower().removesuffix(":latest").rsplit("/", 1)[-1].rsplit("\\", 1)[-1] for name in (asked, got)
    )
    if asked == got:
        return True
    if _FILE.search(got) or _FILE.search(asked):
        asked, got = _FILE.sub("", asked), _FILE.sub("", got)
        return asked == got or asked == _QUANTISED.sub("", got)
    return re.sub(r"-(?:latest|0)\Z", "", asked) in (got, _SNAPSHOT.sub("", got))


def check_model(settings: ModelSettings, got: Any, use: TokenUse | None) -> str:
    """The model's name as the provider gives it, or as it was asked where it gives none. Raises CallFault."""
    if not isinstance(got, str) or not got:
        return settings.model
    if settings.check_model and not same_model(settings.model, got):
        raise CallFault(
            "wrong_model",
            f"asked for {settings.model}, answered by {got[:80]} (check_model = false takes it all the same)",
            use=use,
        )
    return got


def answer_text(text: str, request: ModelRequest | None, use: TokenUse) -> str:
    """The answer without the reasoning that open models write before it, and without a fence if it is to be JSON.

    Raises CallFault when nothing is left.
    """
    if "</think" in text or text.lstrip().startswith(("<think", "<reasoning>")):
        text = _without_thought(text)
    text = json_text(text) if request is not None and request.schema is not None else text.strip()
    if not text:
        raise CallFault("blank", "the answer is blank", use=use)
    return text


def _without_thought(text: str) -> str:
    if found := _THOUGHT.match(text):
        return text[found.end() :]
    # Some servers put the opening tag into the prompt; then only a closing one, on its own line, is in the answer.
    if found := _REST_OF_THOUGHT.match(text):
        return text[found.end() :]
    return text


def truncation_fault(settings: ModelSettings, request: ModelRequest | None, use: TokenUse, reasoning: int) -> CallFault:
    """The fault of an answer that ran into the token limit; reasoning that took a part of it is told."""
    limit = "" if request is None else f" of {request.max_tokens + reasoning_room(settings)} tokens"
    more = f"; {reasoning} tokens went into reasoning: raise reasoning_tokens" if reasoning else ""
    return CallFault("truncated", f"the answer was cut at the limit{limit}{more}", use=use, reasoning=reasoning)


def refusal_fault(words: str, use: TokenUse | None) -> CallFault:
    """The fault of an answer that the model or a filter withheld."""
    words = " ".join(words.split())[:200]
    return CallFault("refused", f"the model refused{': ' + words if words else ''}", use=use)


def token_count(value: Any) -> int:
    """A count of tokens; 0 where there is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def object_at(value: Any, name: str) -> Mapping[str, Any]:
    """An object in an object; empty where there is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def object_list(value: Any) -> Sequence[Mapping[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def join_texts(parts: Iterable[Mapping[str, Any]], type: str) -> str:
    """The text of all parts of one type."""
    return "".join(text for part in parts if part.get("type") == type and isinstance(text := part.get("text"), str))
