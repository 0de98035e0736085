"""Fakes for tests of strategies, shipped so that a strategy of your own can be tested with them.

``talk`` writes a small history, ``ScriptedSummarizer`` stands in for a model at the one seam there is, and
``CharacterCounter`` counts without a vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from compaction.model import (
    Completion,
    ModelError,
    ModelRequest,
    NativeCompactor,
    NativeRequest,
    ReplyError,
    SummaryError,
    SummaryRequest,
)
from compaction.strategy import History
from compaction.tokens import TokenCounter, counted
from compaction.transcript import Message, RecordedCompaction, ToolCall

EMBEDDER = "openai:text-embedding-3-small"
WORDS = ("error", "file", "login", "please", "test")
"""Words that the embeddings of ``ScriptedProvider`` tell apart."""


class CharacterCounter:
    """A token for every four characters begun; nothing for an empty text."""

    name = "characters/4"

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return -(-len(text) // 4)


class ScriptedSummarizer:
    """A summariser that answers through a handler, and remembers its requests.

    A handler returns the text or raises SummaryError. Without one the answer names the request's number.
    """

    name = "scripted"

    def __init__(self, handler: Callable[[SummaryRequest], str] | None = None) -> None:
        self.requests: list[SummaryRequest] = []
        self._handler = handler

    def summarize(self, request: SummaryRequest) -> Completion:
        """The handler's answer."""
        self.requests.append(request)
        text = self._handler(request) if self._handler else f"SUMMARY {len(self.requests)}"
        return Completion(text, self.name)


class ScriptedModel:
    """A language model that answers through a handler, and remembers its requests.

    A handler returns the text or raises ModelError. Without one the answer names the request's number. A text that the
    request's ``check`` does not take is a ModelError, as it is with a client.
    """

    name = "scripted"

    def __init__(self, handler: Callable[[ModelRequest], str] | None = None, **identity: Any) -> None:
        self.identity: Mapping[str, Any] = {"model": self.name, **identity}
        self.requests: list[ModelRequest] = []
        self._handler = handler

    def complete(self, request: ModelRequest) -> Completion:
        """The handler's answer."""
        self.requests.append(request)
        text = self._handler(request) if self._handler else f"ANSWER {len(self.requests)}"
        if not text.strip():
            raise ModelError("the model answered with nothing", "blank")
        try:
            if request.check is not None:
                request.check(text)
        except ReplyError as error:
            raise ModelError(f"the answer cannot be used: {error}", "invalid") from None
        asked = sum(len(message.text) for message in request.messages)
        return Completion(text, self.name, asked // 4, len(text) // 4, None)


class ScriptedProvider:
    """A provider that compacts as its documentation says it does, and remembers what it was asked.

    A handler makes the response's JSON, or raises SummaryError. Without one OpenAI returns the user messages and one
    encrypted item, and Anthropic one compaction block, or clears what ``keep`` lets it; embeddings are of few words.
    """

    name = "scripted provider"

    def __init__(self, handler: Callable[[NativeRequest], Mapping[str, Any]] | None = None) -> None:
        self.requests: list[NativeRequest] = []
        self._handler = handler

    def compact(self, request: NativeRequest) -> tuple[Mapping[str, Any], Completion]:
        """The handler's response."""
        self.requests.append(request)
        return self._handler(request) if self._handler else _native(request), Completion("", self.name)


def natives_of(provider: ScriptedProvider) -> dict[str, NativeCompactor]:
    """The same provider for everything that strategies ask of one."""
    return dict.fromkeys(("openai", "anthropic", EMBEDDER), provider)


def _native(request: NativeRequest) -> Mapping[str, Any]:
    if request.model:
        vectors = [[float(len(set(text.lower().split()) & {word})) for word in WORDS] for text in request.body["input"]]
        return {"data": [{"index": n, "embedding": [*vector, 1.0]} for n, vector in enumerate(vectors)]}
    if request.provider == "openai":
        asked = [item for item in request.body["input"] if item.get("role") == "user"]
        said = [
            item
            if isinstance(item["content"], list)
            else {**item, "type": "message", "content": [{"type": "input_text", "text": item["content"]}]}
            for item in asked
        ]
        item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}
        return {"output": [*said, item], "usage": {"output_tokens": 40}}
    edits = request.body.get("context_management", {}).get("edits", [])
    if edits and edits[0]["type"].startswith("clear"):
        blocks = [block for message in request.body["messages"] for block in message["content"]]
        left_alone = edits[0].get("exclude_tools", ())
        uses = [block for block in blocks if block["type"] == "tool_use" and block["name"] not in left_alone]
        cleared = max(0, len(uses) - edits[0]["keep"]["value"])
        return {"context_management": {"applied_edits": [{"type": edits[0]["type"], "cleared_tool_uses": cleared}]}}
    return {"content": [{"type": "compaction", "content": "SUMMARY", "signature": "sig"}], "stop_reason": "compaction"}


def failing(request: SummaryRequest) -> str:
    """A handler that fails as a model client does."""
    raise SummaryError("the model is not reachable")


def blank(request: SummaryRequest) -> str:
    """A handler that answers with nothing but white space."""
    return " \n\t"


def talk(shape: str, *, tokens: int | None = 10, first_seq: int = 0) -> tuple[Message, ...]:
    """A history from a line of letters, for example ``"s u a2 u"``.

    ``s`` system, ``u`` user, ``a`` assistant text, ``aN`` an assistant message with N parallel calls and then their
    results, ``c`` a call whose result never came, ``t`` a result without a call, ``r`` an assistant message of
    nothing but reasoning, ``e`` an empty assistant message. Each message has ``tokens`` tokens; None counts them.
    """
    made: list[Message] = []
    for word in shape.split():
        made += _said(word, len(made) + first_seq)
    if tokens is None:
        return tuple(counted(m, CharacterCounter()) for m in made)
    return tuple(replace(m, tokens=tokens) for m in made)


def history(
    messages: Sequence[Message],
    *,
    budget: int = 100,
    summarizer: ScriptedSummarizer | None = None,
    earlier_cuts: Sequence[int] = (),
    counter: TokenCounter | None = None,
    session: Sequence[Message] = (),
    recorded: Sequence[RecordedCompaction] = (),
    provider: ScriptedProvider | None = None,
) -> History:
    """Make a history of these messages for a strategy."""
    return History(
        tuple(messages),
        counter or CharacterCounter(),
        budget,
        tuple(earlier_cuts),
        summarizer,
        session=tuple(session),
        recorded=tuple(recorded),
        natives=natives_of(provider) if provider else {},
    )


def _said(word: str, seq: int) -> list[Message]:
    match = re.fullmatch(r"([suatcre])(\d*)", word)
    if match is None or (match[2] and match[1] != "a"):
        raise ValueError(f"talk: {word!r} is none of s u a aN c t r e")
    letter, number = match[1], int(match[2] or 0)
    if letter in "su":
        role = "system" if letter == "s" else "user"
        return [Message(role, f"{role} {seq}", seq=seq)]  # type: ignore[arg-type]
    if letter == "t":
        return [Message("tool", f"result {seq}", tool_call_id=f"lost-{seq}", seq=seq)]
    if letter == "r":
        return [Message("assistant", reasoning=f"thought {seq}", seq=seq)]
    if letter == "e":
        return [Message("assistant", seq=seq)]
    if letter == "c":
        number = 1
    calls = tuple(ToolCall(f"{seq}-{n}", "read", f'{{"path": "file{n}.py"}}') for n in range(number))
    said = [Message("assistant", f"assistant {seq}", tool_calls=calls, seq=seq)]
    if letter == "a":
        said += [
            Message("tool", f"result {seq + n}", tool_call_id=call.id, tool_name=call.name, seq=seq + n)
            for n, call in enumerate(calls, 1)
        ]
    return said
