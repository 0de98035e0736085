"""A request that a provider refuses, and the rules that several interfaces share."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

import orjson

from tests.flows.llm.shapes import Json

WORD = re.compile(r"[a-zA-Z0-9_-]+")
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


class Refusal(Exception):  # noqa: N818 (what a provider says)
    """A request that the provider refuses: status and the object ``error``."""

    def __init__(self, message: str, param: str | None = None, *, status: int = 400, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.more = {"param": param, **more}

    def error(self, anthropic: bool) -> Json:
        """The object ``error`` in the provider's form; its type follows from the status."""
        return {"message": self.message} if anthropic else {"message": self.message, "code": None, **self.more}


def refuse_unless(holds: object, message: str, param: str | None = None, **more: Any) -> None:
    """Refuse the request unless something holds."""
    if not holds:
        raise Refusal(message, param, **more)


def parse_body(raw: bytes) -> Json:
    """The JSON of a body. Half a surrogate pair is refused as no JSON (message "no low surrogate in string")."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Refusal(f"The request body is not valid JSON: {error}") from None
    # Not published; no provider is known to take it, and several are known to fail.
    refuse_unless(not _NUL.search(raw), "the body has a null character")
    refuse_unless(isinstance(body, dict), "the body is not an object")
    return body


def refuse_unknown(body: Json, fields: Collection[str], place: str = "", *, openai: bool = True) -> None:
    """Unknown fields are refused: messages "Unrecognized request argument", "Extra inputs are not permitted"."""
    for name in body:
        said = f"Unknown parameter: '{place}{name}'." if openai else f"{place}{name}: Extra inputs are not permitted"
        refuse_unless(name in fields, said, place + name, code="unknown_parameter")


def check_name(name: Any, most: int, param: str) -> None:
    """OpenAPI: the description of FunctionObject.name (64), FunctionCallItemParam.name (128)."""
    fits = isinstance(name, str) and WORD.fullmatch(name) and len(name) <= most
    refuse_unless(fits, f"Invalid '{param}': string does not match pattern.", param)


STRICT_KEYWORDS = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "definitions",
        "description",
        "title",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
    }
)
"""Guide to structured outputs, "Supported schemas"."""


def schemas_in(schema: Json, depth: int = 1) -> Iterator[tuple[Json, int]]:
    """A schema and all in it, each with the level of objects that it stands on."""
    yield schema, depth
    deeper = depth + (schema.get("type") == "object")
    for name in ("properties", "$defs", "definitions"):
        for inner in schema.get(name, {}).values():
            yield from schemas_in(inner, deeper)
    if isinstance(schema.get("items"), dict):
        yield from schemas_in(schema["items"], depth)
    for inner in (*schema.get("anyOf", ()), *schema.get("allOf", ()), *schema.get("oneOf", ())):
        yield from schemas_in(inner, depth)
