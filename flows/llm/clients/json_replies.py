"""JSON answers from models and servers that do not keep to a schema by themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

_FENCED = re.compile(r"```[ \t]*[A-Za-z0-9_+-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```", re.DOTALL)

_ASK = """\
Answer with one JSON value and nothing else: no words before or after it, and no code fence around it. It has to be \
valid against this JSON schema:
"""


def with_schema(messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages, with the schema in the words of the last system message, or in one of its own before them all."""
    ask = _ASK + orjson.dumps(schema).decode()
    asked = [dict(message) for message in messages]
    for message in reversed(asked):
        if message.get("role") == "system":  # a provider's own item has no role
            message["content"] = f"{message['content']}\n\n{ask}" if message["content"] else ask
            return asked
    return [{"role": "system", "content": ask}, *asked]


def json_text(text: str) -> str:
    """The JSON of an answer, out of its code fence.

    An answer that is no JSON and has exactly one fenced part that could be some is that part; any other is left as it
    is, for whoever checks it to say what is wrong.
    """
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        return stripped
    parts = [part.strip() for part in _FENCED.findall(stripped)]
    found = [part for part in parts if part[:1] in ("{", "[")]
    return found[0] if len(found) == 1 else stripped


_STRICT_KEYWORDS = frozenset(
    """type properties required additionalProperties items enum const anyOf $ref $defs description title pattern
    format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems""".split()
)


def is_strict(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes a schema: every object lists all its properties as required, and no others.

    It knows few keywords. Source: OpenAI's guide to structured outputs. A schema that is not strict is sent without
    that flag.
    """
    if isinstance(schema, list | tuple):
        return all(is_strict(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    if not _STRICT_KEYWORDS.issuperset(schema):
        return False
    properties = schema.get("properties")
    kind = schema.get("type")
    if kind == "object" or (isinstance(kind, list | tuple) and "object" in kind) or isinstance(properties, Mapping):
        named = set(properties) if isinstance(properties, Mapping) else set()
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != named:
            return False
    inner = [value for name, value in schema.items() if name not in ("properties", "$defs", "enum", "const")]
    for name in ("properties", "$defs"):
        inner += list((schema.get(name) or {}).values())
    return all(is_strict(part) for part in inner)
