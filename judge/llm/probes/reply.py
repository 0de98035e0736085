"""The reply of a model that writes probes: a JSON schema and a parser for each type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compaction.model import ReplyError
from judge.probe import ProbeType
from judge.statement import StatementKind

RECALL_KINDS: tuple[StatementKind, ...] = ("error", "command", "version", "value", "request")
PARTS = ("open", "failing", "next")
STATES = ("created", "modified", "examined")


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that the model says stand in a message."""

    message: int
    text: str


@dataclass(frozen=True, slots=True)
class DraftItem:
    """One part of a true answer."""

    kind: str
    """Kind of fact; of continuation ``open``, ``failing`` or ``next``; of artifact the state of the file."""
    text: str
    quotes: tuple[Quote, ...]
    path: str = ""
    """Of artifact: the file that ``text`` says the changes of."""


@dataclass(frozen=True, slots=True)
class ProbeDraft:
    """A probe as the model wrote it, before anything of it is verified."""

    question: str
    items: tuple[DraftItem, ...]


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_TEXT = {"type": "string"}
_QUOTE = {"message": {"type": "integer"}, "quote": _TEXT}
_EVIDENCE = _list(_object(**_QUOTE))

SCHEMAS: Mapping[ProbeType, Mapping[str, Any]] = {
    "recall": _object(
        probes=_list(
            _object(
                evidence=_EVIDENCE, kind={"type": "string", "enum": list(RECALL_KINDS)}, question=_TEXT, answer=_TEXT
            )
        )
    ),
    "decision": _object(
        probes=_list(_object(evidence=_EVIDENCE, question=_TEXT, decision=_TEXT, reason=_TEXT, alternatives=_TEXT))
    ),
    "continuation": _object(
        question=_TEXT, items=_list(_object(part={"type": "string", "enum": list(PARTS)}, text=_TEXT, **_QUOTE))
    ),
    "constraint": _object(question=_TEXT, rules=_list(_object(text=_TEXT, **_QUOTE))),
    "artifact": _object(
        question=_TEXT,
        files=_list(_object(path=_TEXT, state={"type": "string", "enum": list(STATES)}, change=_TEXT, **_QUOTE)),
    ),
}
"""Evidence comes before the question where the schema's order binds the model: it then asks for what it has found."""


def parse_drafts(probe_type: ProbeType, text: str) -> list[ProbeDraft]:
    """The drafts in a reply; none where the model found nothing to ask for.

    Raises:
        ReplyError: The reply is not of the form of ``SCHEMAS``.
    """
    value = _json(text)
    if probe_type in ("recall", "decision"):
        read = _recall if probe_type == "recall" else _decision
        return [read(_dict(entry)) for entry in _entries(value, "probes")]
    if probe_type == "continuation":
        items = tuple(_item(entry, "part", PARTS, "text") for entry in map(_dict, _entries(value, "items")))
    elif probe_type == "constraint":
        rules = map(_dict, _entries(value, "rules"))
        items = tuple(DraftItem("constraint", _text(entry, "text"), (_quote(entry),)) for entry in rules)
    else:
        items = tuple(_item(entry, "state", STATES, "change") for entry in map(_dict, _entries(value, "files")))
    question = _text(value, "question")
    return [ProbeDraft(question, items)] if items else []


def _recall(entry: dict[str, Any]) -> ProbeDraft:
    kind = _one_of(entry, "kind", RECALL_KINDS)
    return ProbeDraft(_text(entry, "question"), (DraftItem(kind, _text(entry, "answer"), _quotes(entry)),))


def _decision(entry: dict[str, Any]) -> ProbeDraft:
    quotes = _quotes(entry)
    parts = (("decision", "decision"), ("reason", "reason"), ("alternatives", "alternatives"))
    items = tuple(DraftItem(kind, text, quotes) for kind, key in parts if (text := _text(entry, key)))
    return ProbeDraft(_text(entry, "question"), items)


def _item(entry: dict[str, Any], kind: str, known: tuple[str, ...], text: str) -> DraftItem:
    path = _text(entry, "path") if "path" in entry else ""
    return DraftItem(_one_of(entry, kind, known), _text(entry, text), (_quote(entry),), path)


def _json(text: str) -> dict[str, Any]:
    # A server that does not enforce the schema may fence the JSON or talk around it.
    start, end = text.find("{"), text.rfind("}")
    try:
        value = json.loads(text[start : end + 1]) if start >= 0 else None
    except ValueError as error:
        raise ReplyError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ReplyError("expected a JSON object")
    return value


def _entries(value: dict[str, Any], key: str) -> list[Any]:
    entries = value.get(key)
    if not isinstance(entries, list):
        raise ReplyError(f"expected a list under {key!r}")
    return entries


def _dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ReplyError(f"expected an object in the list, not {type(value).__name__}")
    return value


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str):
        raise ReplyError(f"expected a text under {key!r}")
    return " ".join(value.split())


def _one_of(entry: dict[str, Any], key: str, known: tuple[str, ...]) -> str:
    value = _text(entry, key)
    if value not in known:
        raise ReplyError(f"{key!r} is {value[:40]!r}, expected one of {', '.join(known)}")
    return value


def _quotes(entry: dict[str, Any]) -> tuple[Quote, ...]:
    return tuple(_quote(_dict(quote)) for quote in _entries(entry, "evidence"))


def _quote(entry: dict[str, Any]) -> Quote:
    number, text = entry.get("message"), entry.get("quote")
    if isinstance(number, bool) or not isinstance(number, int) or not isinstance(text, str):
        raise ReplyError("expected a number under 'message' and a text under 'quote'")
    return Quote(number, text)
