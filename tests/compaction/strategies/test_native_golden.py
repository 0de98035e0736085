"""Our requests to providers against what their SDKs sent for them (golden/native.json): the shape only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compaction import Message, compact, make_method
from compaction.strategies.shared.parts import system_prompt
from compaction.strategies.shared.wire import anthropic_messages, openai_items
from compaction.testing import ScriptedProvider, history
from tests.compaction.native_cases import ANSWERS, QUESTION, brief, messages_of, requests_of

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "native.json").read_text(encoding="utf-8"))
CASES = {
    f"{sdk}, {case['request']}, {case['shape']}": (case, sdk.split()[0])
    for sdk, cases in RECORDED.items()
    for case in cases
}
every_case = pytest.mark.parametrize(("case", "provider"), CASES.values(), ids=list(CASES))


@every_case
def test_the_sdk_takes_our_request_and_sends_it_as_it_is(case: dict[str, Any], provider: str) -> None:
    request = requests_of(messages_of(case["shape"]))[case["request"]]
    assert request.provider == provider
    assert request.path == case["path"]
    assert list(request.betas) == case["betas"]
    assert brief({"model": "m", **request.body}) == case["body"]


@every_case
def test_what_is_stored_of_the_answer_goes_back_to_the_provider_as_it_came(case: dict[str, Any], provider: str) -> None:
    """The next request has the items of the response in front, to the letter, as the SDK's own objects give them."""
    if case["next"] is None:
        return
    messages = messages_of(case["shape"])
    request = requests_of(messages)[case["request"]]
    answer = case["response"] or ANSWERS[case["request"]](request.body)
    ids = {"openai": "openai_compact", "anthropic": "anthropic_compact"}
    left = compact(history(messages, provider=ScriptedProvider(lambda _: answer)), make_method(ids[provider])).messages
    asked = (*left[len(system_prompt(left)) :], Message("user", QUESTION))
    if provider == "anthropic":
        assert brief(anthropic_messages(asked)) == case["next"]
    elif any(message.opaque for message in left):
        assert [plain(item) for item in openai_items(asked)] == [plain(item) for item in sent_items(case, answer)]


def sent_items(case: dict[str, Any], answer: dict[str, Any]) -> list[dict[str, Any]]:
    found = [*answer["output"], {"role": "user", "content": QUESTION}]
    assert brief(found) == case["next"]
    return found


def plain(item: dict[str, Any]) -> Any:
    """A user message by its role and text, for which the API has two forms; anything else as it is."""
    if item.get("role") != "user":
        return item
    content = item["content"]
    return item["role"], content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_the_recorded_cases_exercise_what_they_are_for() -> None:
    assert set(RECORDED) == {"openai 3.52.0", "anthropic 2.11.0", "anthropic 0.125.0"}
    assert len(CASES) >= 250
    blocks = [
        block["type"]
        for case, _ in CASES.values()
        if isinstance(case["body"], dict) and "messages" in case["body"]
        for message in case["body"]["messages"]
        for block in message["content"]
    ]
    assert min(blocks.count(kind) for kind in ("text", "tool_use", "tool_result")) >= 50
    assert sum(case["next"] is not None for case, _ in CASES.values()) >= 100
