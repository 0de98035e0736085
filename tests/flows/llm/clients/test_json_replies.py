"""JSON from models and servers that do not keep to a schema by themselves."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from flows.llm.clients.json_replies import is_strict, json_text, with_schema
from tests.flows.llm.asking import SCHEMA

TWO = 'one\n```json\n{"a": 1}\n```\nor\n```json\n{"a": 2}\n```'
JSON = '{"score": 1, "why": "```x```"}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('  {"a": 1}\n', '{"a": 1}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```\n{"a": 1}```', '{"a": 1}'),
        ("``` JSON \r\n[1]\r\n```\n", "[1]"),
        ('Here you are:\n```json\n{"a": 1}\n```\nAnything else?', '{"a": 1}'),
        ('```python\nx = 1\n```\n```json\n{"a": 1}\n```', '{"a": 1}'),
        (JSON, JSON),
        ("no JSON at all", "no JSON at all"),
        (TWO, TWO),
        ('```json\n{"a": 1}', '```json\n{"a": 1}'),
        ("", ""),
    ],
)
def test_json_is_taken_out_of_its_fence_and_nothing_is_guessed(text: str, found: str) -> None:
    assert json_text(text) == found


def test_the_schema_goes_into_the_last_system_message() -> None:
    said = [
        {"role": "system", "content": "One."},
        {"role": "user", "content": "Two."},
        {"role": "system", "content": "Three."},
        {"role": "user", "content": "Four."},
    ]
    made = with_schema(said, SCHEMA)
    assert [message["role"] for message in made] == [message["role"] for message in said]
    assert [n for n, message in enumerate(made) if message != said[n]] == [2]
    assert made[2]["content"].startswith("Three.\n\n")
    assert made[2]["content"].endswith(orjson.dumps(SCHEMA).decode())
    assert said[2]["content"] == "Three.", "the messages themselves stay as they are"


def test_without_a_system_message_the_schema_is_one() -> None:
    said = [{"role": "user", "content": "Two."}]
    made = with_schema(said, SCHEMA)
    assert [message["role"] for message in made] == ["system", "user"]
    assert made[1:] == said


def strict(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "is_one"),
    [
        (SCHEMA, True),
        (strict(), True),
        (strict(a=strict(b={"type": "string"}), c={"type": "array", "items": strict()}), True),
        (strict(a={"anyOf": [strict(), {"type": "null"}]}), True),
        (strict(properties={"type": "string"}, required={"enum": ["x"]}), True),
        ({**strict(a={}), "required": []}, False),
        ({**strict(a={}), "additionalProperties": True}, False),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),
        ({"type": "object"}, False),
        (strict(a={"type": "object", "properties": {}}), False),
        (strict(a={"type": "array", "items": {"type": ["object", "null"]}}), False),
        (strict(a={"type": "string", "maxLength": 9}), False),
        (strict(a={"allOf": [strict()]}), False),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "object"}}}, False),
    ],
)
def test_strict_is_asked_for_only_where_the_schema_allows_it(schema: dict[str, Any], is_one: bool) -> None:
    assert is_strict(schema) is is_one
