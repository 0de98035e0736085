"""Vector memory by hand: what comes back, what is asked for, and what is said where there is nobody to ask."""

from __future__ import annotations

from typing import Any

import pytest

from compaction import Message, NotApplicable, SummaryError, compact, parse_method
from compaction.testing import EMBEDDER, CharacterCounter, ScriptedProvider, history
from compaction.tokens import counted

SPEC = "retrieval_vector(recent=2,piece_tokens=20,tokens=50)"


def session(n: int) -> tuple[Message, ...]:
    texts = [f"step {k}: oil wheel" for k in range(n)]
    texts[1], texts[4] = "the login error was 401", "login was down"
    texts[-2] = "which login error was it"
    roles = ["system", *("user" if k % 2 == 0 else "assistant" for k in range(1, n))]
    made = (Message(roles[k], text, seq=k) for k, text in enumerate(texts))  # type: ignore[arg-type]
    return tuple(counted(message, CharacterCounter()) for message in made)


def test_what_is_like_the_request_comes_back_in_its_order_with_its_number() -> None:
    provider = ScriptedProvider()
    found = compact(history(session(12), provider=provider), parse_method(SPEC))
    assert found.messages[1].text == (
        "[Memory: 2 pieces of earlier messages that are most like the request, oldest first]\n\n"
        "[from message 1, assistant]\nthe login error was 401\n\n[from message 4, user]\nlogin was down"
    )
    assert found.kept == {0, 10, 11}
    assert found.covered == set(range(1, 10))
    assert [request.model for request in provider.requests] == [EMBEDDER, EMBEDDER]
    assert provider.requests[0].body["input"] == ["which login error was it"]


def test_a_long_message_is_cut_at_its_lines_and_a_call_stays_with_its_results() -> None:
    long = Message("user", "\n".join(f"line {n} of many" for n in range(20)), seq=0)
    messages = (counted(long, CharacterCounter()), *session(12)[1:])
    provider = ScriptedProvider()
    compact(history(messages, provider=provider), parse_method(SPEC))
    pieces = provider.requests[1].body["input"]
    assert pieces[0] == "\n".join(f"line {n} of many" for n in range(5))
    assert all(len(piece) <= 80 for piece in pieces)


def test_the_first_requests_stay_the_same_while_the_session_grows() -> None:
    provider = ScriptedProvider()
    for n in (140, 160):
        compact(history(session(200)[:n], provider=provider), parse_method(SPEC))
    first, second = ([r.body["input"] for r in provider.requests[k : k + 4]] for k in (0, 4))
    assert [len(texts) for texts in first] == [1, 64, 64, 9]
    assert first[1:3] == second[1:3]


def test_without_an_endpoint_it_is_not_applicable_and_says_what_to_set() -> None:
    with pytest.raises(NotApplicable, match="set OPENAI_API_KEY, or base_url of a server of your own in"):
        compact(history(session(12)), parse_method(SPEC))
    assert compact(history(session(6)[:3]), parse_method(SPEC)).messages == session(6)[:3]  # nothing to ask for


@pytest.mark.parametrize(
    "data", [[], [{"index": 0, "embedding": [1.0]}], [{"index": n, "embedding": [1.0] * n} for n in range(9)]]
)
def test_an_answer_that_does_not_fit_fails(data: list[dict[str, Any]]) -> None:
    provider = ScriptedProvider(
        lambda request: {"data": [{"index": 0, "embedding": [1.0]}] if len(request.body["input"]) == 1 else data}
    )
    with pytest.raises(SummaryError, match="embeddings"):
        compact(history(session(12), provider=provider), parse_method(SPEC))
