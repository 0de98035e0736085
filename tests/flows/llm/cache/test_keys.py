"""The key of a call covers everything that can change its output, and nothing else."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from compaction.model import ModelRequest, NativeRequest
from compaction.transcript import Message, ToolCall
from flows.llm.cache.keys import call_key
from flows.llm.settings import ModelSettings

SETTINGS = ModelSettings("openai:m", "http://localhost:8080/v1")
REQUEST = ModelRequest((Message("system", "Judge."), Message("user", "What was said?")), 500)
NATIVE = NativeRequest("openai", "/v1/responses/compact", {"input": [{"role": "user", "content": "a"}]})

CHANGES_OUTPUT: dict[str, Any] = {
    "spec": "openai:n",
    "base_url": "http://localhost:8081/v1",
    "api": "responses",
    "temperature": 1.0,
    "top_p": 0.5,
    "seed": 7,
    "reasoning_effort": "low",
    "reasoning_tokens": 100,
    "structured": "prompt",
}
CHANGES_NOTHING: dict[str, Any] = {
    "check_model": False,
    "key_variable": "ANOTHER_KEY",
    "timeout": 5.0,
    "input_usd": 1.0,
    "output_usd": 1.0,
    "cached_input_usd": 1.0,
}


def test_every_setting_is_known_here_to_change_the_output_or_not() -> None:
    assert {field.name for field in fields(ModelSettings)} == {*CHANGES_OUTPUT, *CHANGES_NOTHING}


@pytest.mark.parametrize("name", CHANGES_OUTPUT)
def test_a_setting_that_can_change_the_output_changes_the_key(name: str) -> None:
    changed = replace(SETTINGS, **{name: CHANGES_OUTPUT[name]})
    assert call_key(changed, REQUEST) != call_key(SETTINGS, REQUEST)


@pytest.mark.parametrize("name", CHANGES_OUTPUT)
def test_of_the_settings_only_model_and_server_change_the_key_of_a_native_request(name: str) -> None:
    """A native request goes as it is: no sampling and no form is added to it."""
    changed = replace(SETTINGS, **{name: CHANGES_OUTPUT[name]})
    assert (call_key(changed, NATIVE) != call_key(SETTINGS, NATIVE)) == (name in ("spec", "base_url"))


def test_the_provider_changes_the_key() -> None:
    assert call_key(replace(SETTINGS, spec="anthropic:m"), REQUEST) != call_key(SETTINGS, REQUEST)


@pytest.mark.parametrize("name", CHANGES_NOTHING)
def test_a_setting_that_cannot_change_the_output_leaves_the_key(name: str) -> None:
    assert call_key(replace(SETTINGS, **{name: CHANGES_NOTHING[name]}), REQUEST) == call_key(SETTINGS, REQUEST)


SYSTEM, USER = REQUEST.messages


@pytest.mark.parametrize(
    "change",
    [
        {"messages": (SYSTEM, Message("user", "What was said")), "id": "text"},
        {"messages": (Message("user", "Judge."), USER), "id": "role"},
        {"messages": (USER, SYSTEM), "id": "order"},
        {"messages": (Message("system", "Judge.W"), Message("user", "hat was said?")), "id": "border of two texts"},
        {"messages": (SYSTEM, USER, Message("user", "")), "id": "number"},
        {"max_tokens": 501, "id": "token limit"},
        {"schema": {}, "id": "schema"},
        {"replicate": 1, "id": "replicate"},
    ],
    ids=lambda change: change["id"],
)
def test_what_is_asked_changes_the_key(change: dict[str, Any]) -> None:
    changed = replace(REQUEST, **{name: value for name, value in change.items() if name != "id"})
    assert call_key(SETTINGS, changed) != call_key(SETTINGS, REQUEST)


def test_the_schemas_content_and_the_order_of_its_names_change_the_key() -> None:
    """A model writes the fields of an answer in the order of the schema."""
    schemas = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3}]
    assert len({call_key(SETTINGS, replace(REQUEST, schema=schema)) for schema in schemas}) == 3


@pytest.mark.parametrize(
    "request_",
    [
        replace(REQUEST, check=lambda text: text),
        replace(
            REQUEST,
            messages=(
                SYSTEM,
                Message(
                    "user",
                    "What was said?",
                    reasoning="r",
                    tool_calls=(ToolCall("1", "f", "{}"),),
                    tool_name="f",
                    seq=4,
                    tokens=9,
                    covers=(1,),
                    timestamp="2026-01-01",
                    source_ref="a:1",
                    opaque="{}",
                ),
            ),
        ),
    ],
    ids=["check", "what is not sent of a message"],
)
def test_what_is_not_sent_leaves_the_key(request_: ModelRequest) -> None:
    assert call_key(SETTINGS, request_) == call_key(SETTINGS, REQUEST)


def test_an_item_that_only_its_provider_reads_is_part_of_the_key() -> None:
    keys = {
        call_key(SETTINGS, replace(REQUEST, messages=(SYSTEM, Message("user", opaque=item), *REQUEST.messages[1:])))
        for item in ("", '{"id":1}', '{"id":2}')
    }
    assert len(keys) == 3


@pytest.mark.parametrize(
    "changed",
    [replace(NATIVE, path="/v1/responses"), replace(NATIVE, body={"input": []}), replace(NATIVE, betas=("b",))],
    ids=["path", "body", "betas"],
)
def test_path_body_and_betas_of_a_native_request_change_the_key(changed: NativeRequest) -> None:
    assert call_key(SETTINGS, changed) != call_key(SETTINGS, NATIVE)


def test_the_replicate_can_be_given_and_is_the_requests_own_otherwise() -> None:
    assert call_key(SETTINGS, REQUEST, 3) == call_key(SETTINGS, replace(REQUEST, replicate=3))
    assert call_key(SETTINGS, NATIVE, 0) == call_key(SETTINGS, NATIVE) != call_key(SETTINGS, NATIVE, 1)


def test_equal_settings_have_one_key_whether_a_number_is_written_as_1_or_as_1_point_0() -> None:
    whole, real = replace(SETTINGS, temperature=1), replace(SETTINGS, temperature=1.0)
    assert whole == real
    assert call_key(whole, REQUEST) == call_key(real, REQUEST)


CALL = ToolCall("1", "read", "{}")
ASKED = Message("assistant", "Looking.", tool_calls=(CALL,))
GAVE = Message("tool", "done", tool_call_id="1")


@pytest.mark.parametrize("spec", ["openai:m", "anthropic:m"])
def test_a_call_and_its_result_change_the_key(spec: str) -> None:
    """Each is sent. What makes no difference to what is sent makes none to the key."""
    settings = replace(SETTINGS, spec=spec)
    histories = [
        (ASKED, GAVE),
        (ASKED,),
        (GAVE,),
        (replace(ASKED, tool_calls=()),),
        (replace(ASKED, tool_calls=(replace(CALL, name="write"),)), GAVE),
        (replace(ASKED, tool_calls=(replace(CALL, arguments='{"a":1}'),)), GAVE),
        (ASKED, replace(GAVE, text="Done")),
        (ASKED, replace(GAVE, is_error=True)),
        (ASKED, GAVE, USER),
        (USER, ASKED, GAVE),
    ]
    keys = [call_key(settings, replace(REQUEST, messages=(SYSTEM, *messages))) for messages in histories]
    assert len(set(keys)) == len(histories)
    named = (SYSTEM, ASKED, replace(GAVE, tool_name="read", seq=4))
    assert call_key(settings, replace(REQUEST, messages=named)) == keys[0]


def test_the_users_turns_around_an_assistants_are_part_of_the_key() -> None:
    """They were not sent before: an answer without them is another one. OpenAI itself is sent none."""
    before = {
        "openai:m https://api.openai.com/v1": "5c5fa445e3fa7239838c4f9ffdaa367609ceb654b9947bb0ca5ba3a6dcab56cb",
        "openai:m http://localhost:8080/v1": "c09c80ca1999eb92bc1fc0eca997f3d676f575720d209963799e65579dd28698",
        "anthropic:m https://api.anthropic.com": "df1350be34aa2d6807bc6d46dae94c0cc5b0df855178e4a9df80cd5bc992baec",
    }
    ends = replace(REQUEST, messages=(*REQUEST.messages, Message("assistant", "So")))
    same = {name: call_key(ModelSettings(*name.split()), ends) == key for name, key in before.items()}
    assert list(same.values()) == [True, False, False]


def test_a_native_request_that_ends_with_the_assistant_has_the_key_of_what_is_sent() -> None:
    messages = [{"role": role, "content": [{"type": "text", "text": "x"}]} for role in ("user", "assistant")]
    settings = replace(SETTINGS, spec="anthropic:m")
    ends = NativeRequest("anthropic", "/v1/messages", {"messages": messages})
    user = NativeRequest("anthropic", "/v1/messages", {"messages": messages[:1]})
    assert call_key(settings, ends) != "ec9abf88e9fccfdd23a5ef09747d57d089a2cf0253028b18454e3ffc37e90ff2"
    assert call_key(settings, user) == "3ef59c3312a140a3ab07e19ac5bbc15db87f41d4918f5c358b5d9dbc1a3ff42f"


@pytest.mark.parametrize("text", ["half \ud83d", "null \0", "\\ud83d", "é" * 9, ""])
def test_any_text_has_a_key_of_its_own(text: str) -> None:
    asked = [replace(REQUEST, messages=(Message("user", each),)) for each in (text, text + " ")]
    natives = [replace(NATIVE, body={"input": each, "n": 2**70}) for each in (text, text + " ")]
    assert len({call_key(SETTINGS, each) for each in (*asked, *natives)}) == 4


def test_a_key_is_the_same_in_every_process_and_version() -> None:
    """What was paid for would be lost otherwise; whoever means to change it raises KEY_FORMAT and this."""
    assert call_key(SETTINGS, REQUEST) == "d01d4def8a6521f03555f01228c7f70784f40f2f7e7c1ef024fb37f9c6ed9c12"
    assert call_key(SETTINGS, NATIVE) == "b9c4a9e1c04935473f52d849585184c6654fcc80889f365e49035436f53e7ad6"
